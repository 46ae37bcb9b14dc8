// Help for types as other languages write them: `Optional[int]`,
// `Literal["a", "b"]`, `List<int>`, `int[]`, `int or none`.
//
// A small parser for types accepts all kinds of brackets, and translates the
// words before them.

#include "compiler/parse/ForeignSyntax.h"
#include "compiler/parse/SyntaxView.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

namespace recipec::parse {
namespace {

/// Types of other languages, and our names for them.
constexpr std::pair<std::string_view, std::string_view> types[] = {
    {"i8", "int"},
    {"i16", "int"},
    {"i32", "int"},
    {"i64", "int"},
    {"u8", "int"},
    {"u16", "int"},
    {"u32", "int"},
    {"u64", "int"},
    {"usize", "int"},
    {"isize", "int"},
    {"Int", "int"},
    {"Integer", "int"},
    {"integer", "int"},
    {"Natural", "int"},
    {"long", "int"},
    {"int32", "int"},
    {"int64", "int"},
    {"Int64", "int"},
    {"f32", "float"},
    {"f64", "float"},
    {"Float", "float"},
    {"double", "float"},
    {"Double", "float"},
    {"number", "float"},
    {"Number", "float"},
    {"float32", "float"},
    {"float64", "float"},
    {"str", "string"},
    {"String", "string"},
    {"Text", "string"},
    {"boolean", "bool"},
    {"Bool", "bool"},
    {"Boolean", "bool"},
    {"int", "int"},
    {"float", "float"},
    {"bool", "bool"},
    {"string", "string"},
    {"bytes", "bytes"},
    {"steps", "steps"},
    {"tokens", "tokens"},
    {"epochs", "epochs"},
    {"duration", "duration"},
    {"Duration", "duration"},
    {"DataSize", "bytes"},
    {"None", "none"},
    {"null", "none"},
    {"Any", "any"},
    {"Tensor", "tensor"},
};

/// Words with blanks around them, by what their arguments make.
constexpr std::string_view optionals =
    " Optional Maybe Option optional Nullable ";
constexpr std::string_view choices =
    " Literal Enum enum choice Choice one_of oneof OneOf Union Either ";
constexpr std::string_view maps =
    " map Map dict Dict HashMap Mapping Record Object hash Hash ";
constexpr std::string_view lists =
    " list List Sequence Array array Vec vector Set set Tuple tuple Iterable "
    "Collection Listing ";
constexpr std::string_view functions = " Callable Function Fn ";
constexpr std::string_view wrappers = " Final ClassVar Annotated Required ";

bool isOneOf(std::string_view words, const std::string& word) {
  return words.find(" " + word + " ") != words.npos;
}

std::string joined(const std::vector<std::string>& parts,
                   std::string_view between) {
  std::string text;
  for (const std::string& part : parts)
    text += (text.empty() ? "" : std::string(between)) + part;
  return text;
}

/// The type of a list for the elements of a tuple: `[int]`, or `[int | string]`
/// if they differ. Empty without elements.
std::string listOf(std::vector<std::string> parts) {
  auto end = parts.end();
  for (auto at = parts.begin(); at != end; ++at)
    end = std::remove(at + 1, end, *at);
  parts.erase(end, parts.end());
  return parts.empty() ? "" : "[" + joined(parts, " | ") + "]";
}

/// Our type for another language's generic type with arguments; empty for
/// others.
std::string applied(const std::string& word,
                    const std::vector<std::string>& parts) {
  if (parts.empty())
    return {};
  if (isOneOf(optionals, word) && parts.size() == 1)
    return parts[0] + " | none";
  if (isOneOf(choices, word))
    return joined(parts, " | ");
  if (isOneOf(maps, word) && parts.size() == 2)
    return "map[string, " + parts[1] + "]";
  if (isOneOf(lists, word))
    return listOf(parts);
  if (isOneOf(functions, word) && parts.size() == 2 &&
      parts[0].starts_with('['))
    return "fun(" + parts[0].substr(1, parts[0].size() - 2) + "): " + parts[1];
  return isOneOf(wrappers, word) ? parts[0] : std::string();
}

/// Reads a type from its tokens, in any of the notations.
class TypeReader {
public:
  TypeReader(const SourceMap& sources, const TokenList& list, size_t first)
      : sources(sources), list(list), at(first) {}

  /// The type in our notation; empty if the tokens are not a type.
  std::string read() {
    std::vector<std::string> members{term()};
    while (!members.back().empty() &&
           (type() == TokenType::PIPE || type() == TokenType::OR)) {
      ++at;
      members.push_back(term());
    }
    return members.back().empty() ? "" : joined(members, " | ");
  }
  /// The token behind the type.
  size_t end() const { return at; }

private:
  size_t type() const {
    return at < list.tokens.size() ? list.tokens[at].type
                                   : size_t(TokenType::EOF);
  }
  std::string text() const { return std::string(sources.text(list.range(at))); }
  bool isComma() const {
    return type() == TokenType::COMMA || type() == TokenType::SEPARATOR;
  }

  std::string term() {
    std::string own = plainTerm();
    // `int[]`
    while (!own.empty() && type() == TokenType::LBRACKET &&
           at + 1 < list.tokens.size() &&
           list.tokens[at + 1].type == TokenType::RBRACKET) {
      own = "[" + own + "]";
      at += 2;
    }
    return own;
  }

  std::string plainTerm() {
    if (type() == TokenType::LBRACKET)
      return listOf(arguments(TokenType::RBRACKET));
    if (type() == TokenType::LPAREN) {
      const auto parts = arguments(TokenType::RPAREN);
      return parts.size() == 1 ? "(" + parts[0] + ")" : listOf(parts);
    }
    if (type() == TokenType::STRING || type() == TokenType::INTEGER ||
        type() == TokenType::NONE || type() == TokenType::AUTO) {
      const std::string literal = text();
      ++at;
      return literal;
    }
    return isName(type()) ? namedTerm() : std::string();
  }

  std::string namedTerm() {
    std::string word = text();
    ++at;
    while (type() == TokenType::DOT) {
      ++at;
      if (!isName(type()))
        return {};
      word = text(); // `typing.Optional`
      ++at;
    }
    const bool isChoice = isOneOf(choices, word);
    if (type() == TokenType::LESS)
      return applied(word, arguments(TokenType::GREATER));
    if (type() == TokenType::LPAREN && isChoice)
      return applied(word, arguments(TokenType::RPAREN));
    if (type() == TokenType::OPEN && isChoice)
      return quotedNames();
    const bool isArray = at + 1 < list.tokens.size() &&
                         list.tokens[at + 1].type == TokenType::RBRACKET;
    if (type() == TokenType::LBRACKET && !isArray)
      return applied(word, arguments(TokenType::RBRACKET));
    const std::string_view own = ownTypeOf(word);
    return own.empty() ? word : std::string(own);
  }

  /// The types between two brackets. The first one begins at `at`.
  std::vector<std::string> arguments(size_t closing) {
    std::vector<std::string> parts;
    do {
      ++at;
      parts.push_back(read());
    } while (!parts.back().empty() && isComma());
    const bool isWhole = !parts.back().empty() && type() == closing;
    ++at;
    return isWhole ? parts : std::vector<std::string>();
  }

  /// `"small" | "large"` of `enum { small, large }`
  std::string quotedNames() {
    std::vector<std::string> parts;
    for (++at; isName(type()) || type() == TokenType::STRING || isComma(); ++at)
      if (!isComma())
        parts.push_back(isName(type()) ? "\"" + text() + "\"" : text());
    const bool isWhole = type() == TokenType::CLOSE;
    ++at;
    return isWhole ? joined(parts, " | ") : "";
  }

  const SourceMap& sources;
  const TokenList& list;
  size_t at;
};

class ForeignTypes : public SyntaxView {
public:
  using SyntaxView::SyntaxView;

  bool run() const { return otherNotation() || bound() || secondColon(); }

private:
  /// The first token of the type at or before the error: the one after the `:`
  /// of a field, a parameter or a result. 0 if there is none.
  size_t firstOfType() const {
    size_t colon = error.token;
    while (colon > 0 && isOfType(type(colon - 1)))
      --colon;
    if (colon < 2 || type(colon - 1) != TokenType::COLON)
      return 0;
    const size_t name = colon - 2;
    const bool isField =
        isName(type(name)) &&
        (name == 0 || isEndOfItem(name - 1) ||
         type(name - 1) == TokenType::OPEN ||
         type(name - 1) == TokenType::FIXED ||
         type(name - 1) == TokenType::LPAREN || isComma(name - 1));
    return isField || type(name) == TokenType::RPAREN ? colon : 0;
  }
  static bool isOfType(size_t type) {
    return isName(type) || type == TokenType::STRING ||
           type == TokenType::INTEGER || type == TokenType::LBRACKET ||
           type == TokenType::RBRACKET || type == TokenType::LPAREN ||
           type == TokenType::COMMA || type == TokenType::LESS ||
           type == TokenType::GREATER || type == TokenType::PIPE ||
           type == TokenType::OR || type == TokenType::NONE ||
           type == TokenType::AUTO || type == TokenType::DOT;
  }

  /// `Optional[int]`, `List<int>`, `int[]`, `enum("a", "b")`, `int or none`
  bool otherNotation() const {
    const size_t first = firstOfType();
    if (first == 0)
      return false;
    TypeReader reader(sources, list, first);
    const std::string own = reader.read();
    if (own.empty() || reader.end() <= error.token)
      return false;
    const SourceRange range = rangeOf(first, reader.end() - 1);
    if (own == sources.text(range))
      return false;
    reword(messageFor(own), range);
    return fix("write `" + own + "`", range, own);
  }
  static std::string messageFor(const std::string& own) {
    if (own.ends_with(" | none"))
      return "a type that may be `none` is written with `|`";
    if (own.starts_with('['))
      return "the type of a list is its element's in brackets";
    if (own.starts_with("map["))
      return "a map is written with square brackets, `map[string, T]`";
    return own.find('|') == own.npos
               ? "this type is written otherwise"
               : "the values of a type are divided by `|`";
  }

  /// `size : int > 0`, `size : 1..8`
  bool bound() const {
    const size_t first = firstOfType();
    const bool isComparison =
        found() == TokenType::LESS || found() == TokenType::LESS_EQUAL ||
        found() == TokenType::GREATER || found() == TokenType::GREATER_EQUAL;
    const bool isRange = found() == TokenType::RANGE;
    if (first == 0 || first + 1 != error.token || (!isComparison && !isRange) ||
        isEndOfItem(error.token + 1))
      return false;
    const std::string name = textOf(first - 2);
    const std::string limit = textOf(error.token + 1);
    reword("a type has no bounds: `require` has",
           rangeOf(first, error.token + 1));
    if (isRange)
      return help("write `" + name + " : int`, and on the next line `require " +
                  name + " in " + textOf(first) + ".." + limit + " + 1`");
    return help("write `" + name + " : " + textOf(first) +
                "`, and on the next line `require " + name + " " +
                textOf(error.token) + " " + limit + "`");
  }

  /// `size : int := 4`
  bool secondColon() const {
    if (firstOfType() == 0 || found() != TokenType::COLON ||
        next() != TokenType::ASSIGN)
      return false;
    reword("a default stands behind `=`, not behind `:=`",
           rangeOf(error.token, error.token + 1));
    return fix("write `=`", list.range(error.token), "");
  }
};

} // namespace

std::string_view ownTypeOf(std::string_view name) {
  for (const auto& [foreign, own] : types)
    if (foreign == name)
      return own;
  return {};
}

std::string ownTypeAt(const SourceMap& sources, const TokenList& list,
                      size_t first) {
  return TypeReader(sources, list, first).read();
}

bool helpWithForeignTypes(const SourceMap& sources, const TokenList& list,
                          const SyntaxError& error, diag::Builder& report) {
  return ForeignTypes(sources, list, error, report).run();
}

} // namespace recipec::parse
