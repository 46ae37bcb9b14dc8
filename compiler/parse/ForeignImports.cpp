// Help for imports in the syntax of other languages.

#include "compiler/parse/ForeignSyntax.h"
#include "compiler/parse/SyntaxView.h"

#include <algorithm>
#include <string>
#include <string_view>

namespace recipec::parse {
namespace {

class ForeignImports : public SyntaxView {
public:
  using SyntaxView::SyntaxView;

  bool run() const {
    return severalImports() || allNames() || barePath() || otherForm() ||
           fromImport();
  }

private:
  /// `import a, b`
  bool severalImports() const {
    if (!isOfFile() || !isName(found()) || error.token < 2 ||
        !isComma(error.token - 1))
      return false;
    size_t first = error.token - 1;
    while (first > 0 && !(isEndOfItem(first - 1) && !isComma(first - 1)))
      --first;
    if (type(first) != TokenType::IMPORT)
      return false;
    const size_t last = lastOfItem(error.token);
    reword("an import names one file",
           rangeOf(error.token, std::max(error.token, last)));
    return fix("write `import " + textOf(error.token, last) +
                   "` on a line of its own",
               {list.source, list.tokens[error.token - 1].begin,
                list.tokens[error.token].begin},
               "\nimport ");
  }

  /// Whether a path is a folder of the standard library.
  static bool isFolder(std::string_view path) {
    return path == "std" || path == "std.models" || path == "std.schema";
  }

  /// `import std.models.llama.*`, `import std.models.llama { * }`
  bool allNames() const {
    const bool isInBraces =
        previous() == TokenType::OPEN || previous() == TokenType::BLOCK_OPEN;
    if (found() != TokenType::STAR ||
        (previous() != TokenType::DOT && !isInBraces))
      return false;
    size_t first = error.token - 1;
    while (first > 0 && type(first) != TokenType::IMPORT && !isEndOfItem(first))
      --first;
    if (type(first) != TokenType::IMPORT || first + 1 >= error.token - 1)
      return false;
    const std::string path = textOf(first + 1, error.token - 2);
    reword("an import takes a file, or the names in braces, and has no `*`");
    if (isFolder(path))
      return help("`" + path +
                  "` is a folder: import one of its files, as in "
                  "`import std.models.llama`, and write `llama.NAME`");
    const size_t end = error.token + (isInBraces && next() == TokenType::CLOSE);
    return fix(
        "write `import " + path + "` and `" + aliasOf(error.token - 2) +
            ".name`; `import " + path + " { a, b }` takes names of it",
        {list.source, list.tokens[error.token - 2].end, list.tokens[end].end},
        "");
  }

  /// The name that an import gives to the file whose path ends at a token:
  /// `base` for `"../base.recipe"`.
  std::string aliasOf(size_t last) const {
    std::string path = textOf(last);
    if (type(last) != TokenType::STRING)
      return path;
    path = path.substr(path.find_last_of("/\"", path.size() - 2) + 1);
    return path.substr(0, path.find_first_of(".\""));
  }

  /// `from std.models import llama`; the parser stopped at `from std`.
  bool fromImport() const {
    size_t from = error.token;
    if (!isOfFile() || type(from) != TokenType::IDENTIFIER ||
        textOf(from) != "from")
      return false;
    size_t at = from + 1;
    std::string path;
    while (type(at) != TokenType::IMPORT && type(at) != TokenType::SEPARATOR &&
           type(at) != TokenType::EOF)
      path += textOf(at++);
    std::string names;
    size_t last = at;
    if (type(at) == TokenType::IMPORT)
      for (++at; type(at) == TokenType::AS || isName(type(at)) ||
                 type(at) == TokenType::COMMA ||
                 (type(at) == TokenType::SEPARATOR && textOf(at) == ",");
           last = at++)
        names += (names.empty() || textOf(at) == "," ? "" : " ") + textOf(at);
    if (names.empty())
      return help("an import is written `import std.models.llama`");
    std::string import = "import " + path + " { " + names + " }";
    // If the path is a folder, the imported names are files.
    if (isFolder(path))
      import = "import " + path + "." + names;
    return fix("write `" + import + "`", rangeOf(from, last), import);
  }

  /// `import ./base.recipe { base }`, `import std/models/llama`
  bool barePath() const {
    const size_t first = firstOfItem();
    const bool isSign =
        found() == TokenType::SLASH || found() == TokenType::DOT ||
        found() == TokenType::RANGE || found() == TokenType::MINUS;
    if (type(first) != TokenType::IMPORT || first >= error.token || !isSign)
      return false;
    const std::string_view text = sources.text(list.source);
    const size_t begin = text.find_first_not_of(" \t", list.tokens[first].end);
    const size_t end =
        std::min(text.find_first_of(" \t\r\n{,", begin), text.size());
    std::string path(text.substr(begin, end - begin));
    const SourceRange range{list.source, uint32_t(begin), uint32_t(end)};
    const bool isPlain = !hasEnding(path) &&
                         path.find_first_of(".-") == path.npos &&
                         !path.starts_with('/');
    if (isPlain || path.starts_with("std/"))
      return dotted(path, range);
    if (!hasEnding(path))
      path += ".recipe";
    const size_t last =
        lastOfItem(first) + (type(lastOfItem(first) + 1) == TokenType::CLOSE);
    std::string rest(text.substr(end, list.tokens[last].end - end));
    if (rest.find('\n') != rest.npos)
      rest.clear();
    reword("the path of a file is a string", range);
    const std::string own = "\"" + path + "\"";
    const std::string written = "write `import " + own + rest + "`";
    report.otherwise(written);
    return fix(written, range, own, Applicability::maybe);
  }
  static bool hasEnding(std::string_view path) {
    return path.ends_with(".recipe") || path.ends_with(".yaml") ||
           path.ends_with(".yml") || path.ends_with(".json");
  }
  /// A path without quotation marks, `std/models/llama`: either a library file
  /// or a file next to this one.
  bool dotted(std::string path, SourceRange range) const {
    if (path.ends_with(".recipe"))
      path.resize(path.rfind('.'));
    std::replace(path.begin(), path.end(), '/', '.');
    return fix("the parts of a path are divided by `.`: write `import " + path +
                   "`; a file of your own is `import \"folder/file.recipe\"`",
               range, path);
  }

  /// `import { a } from "f"`, `import "f" (a, b)`, `import a from "f"`,
  /// `import * as f from "f"`, `import "f" as "a"`
  bool otherForm() const {
    const size_t first = firstOfItem();
    if (type(first) != TokenType::IMPORT)
      return false;
    size_t last = first;
    while (type(last + 1) != TokenType::EOF &&
           (type(last + 1) != TokenType::SEPARATOR ||
            list.tokens[last + 1].depth > 0))
      ++last;
    std::string path, alias, names;
    for (size_t at = first + 1; at <= last; ++at) {
      const std::string word = textOf(at);
      if (type(at) == TokenType::STRING && path.empty())
        path = word;
      else if (type(at) == TokenType::STRING && type(at - 1) == TokenType::AS)
        alias = word.substr(1, word.size() - 2);
      else if (word == "hiding" || word == "except" ||
               isReservedWord(type(at)) || isNumber(type(at)))
        return false;
      else if (type(at) == TokenType::AS || word == "from" || !isName(type(at)))
        continue;
      else if (type(at - 1) == TokenType::AS && !isName(type(at - 2)))
        alias = word;
      else
        names += (names.empty()                   ? ""
                  : type(at - 1) == TokenType::AS ? " as "
                                                  : ", ") +
                 word;
    }
    if (path.empty())
      return false;
    const std::string own = "import " + ownPath(path) +
                            (alias.empty() ? "" : " as " + alias) +
                            (names.empty() ? "" : " { " + names + " }");
    reword("an import is written `import \"FILE.recipe\" { name }`");
    return fix("write `" + own + "`", rangeOf(first, last), own,
               Applicability::maybe);
  }
  /// The dotted form of a library path, `std.models.llama` for
  /// `"std/models/llama"`; other paths are unchanged.
  static std::string ownPath(const std::string& quoted) {
    std::string path = quoted.substr(1, quoted.size() - 2);
    if (!path.starts_with("std/"))
      return quoted;
    if (path.ends_with(".recipe"))
      path.resize(path.rfind('.'));
    std::replace(path.begin(), path.end(), '/', '.');
    return path;
  }
};

} // namespace

bool helpWithForeignImports(const SourceMap& sources, const TokenList& list,
                            const SyntaxError& error, diag::Builder& report) {
  return ForeignImports(sources, list, error, report).run();
}

} // namespace recipec::parse
