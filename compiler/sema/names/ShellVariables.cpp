// Variables of the environment in strings; see ShellVariables.h.

#include "compiler/sema/names/ShellVariables.h"

#include "compiler/sema/Evaluator.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>

namespace recipec::sema {
namespace {

/// A shorter name in capitals is not taken for a variable.
constexpr size_t leastName = 2;

bool isVariableLetter(unsigned char c) {
  return std::isupper(c) || std::isdigit(c) || c == '_';
}

/// The end of the variable name that begins at `at`; `at` if there is none.
size_t endOfVariable(std::string_view text, size_t at) {
  size_t end = at;
  while (end < text.size() &&
         isVariableLetter(static_cast<unsigned char>(text[end])))
    ++end;
  const bool isName = end >= at + leastName &&
                      !std::isdigit(static_cast<unsigned char>(text[at]));
  const bool goesOn =
      end < text.size() && std::isalnum(static_cast<unsigned char>(text[end]));
  return isName && !goesOn ? end : at;
}

/// `write its value, or give the setting on the command line: ...`
std::string wayAround(Evaluator& evaluator) {
  const std::optional<SlotOf> current = evaluator.objects.current();
  const Object* around = current ? current->object : nullptr;
  while (around && around->container)
    around = around->container;
  const bool isOfRecipe = around && around->schema &&
                          around->schema == evaluator.recipes.loadedSchema();
  return "write its value, or give the setting on the command line: `--set '" +
         (isOfRecipe ? evaluator.pathOf(*current->object, current->slot->name)
                     : std::string("PATH")) +
         "=\"...\"'`";
}

} // namespace

bool reportVariable(Evaluator& evaluator, const ast::Name& name) {
  const std::string_view text = evaluator.sources.text(name.range.source);
  const size_t begin = name.range.begin;
  if (begin < 2 || text.substr(begin - 2, 2) != "${" ||
      endOfVariable(text, begin) != name.range.end ||
      text.substr(name.range.end, 1) != "}")
    return false;
  evaluator.messages
      .report(
          diag::Kind::UnknownName,
          {name.range.source, uint32_t(begin - 2), name.range.end + 1},
          "a recipe does not read variables of the environment such as `${" +
              name.text + "}`")
      .help(wayAround(evaluator));
  return true;
}

void warnOfHome(Evaluator& evaluator, const std::string& text,
                SourceRange range) {
  const std::optional<SlotOf> current = evaluator.objects.current();
  const bool isFolder =
      current && (current->slot->name == "dir" || current->slot->name == "hf");
  if (!isFolder || !text.starts_with("~/") || evaluator.isLibrary(range))
    return;
  evaluator.messages
      .report(diag::Kind::UnlikelySetting, range,
              "`~` is not expanded in a recipe: the folder is called `~`")
      .help("write the whole path");
}

void warnOfDollar(Evaluator& evaluator, const ast::File& file,
                  const ast::StringLiteral& literal, SourceRange range) {
  const bool isLibrary = evaluator.isLibrary(range);
  for (size_t i = 0; i < literal.holes.size() && !isLibrary; ++i) {
    const SourceRange hole = file[literal.holes[i]].range;
    const std::string_view text = evaluator.sources.text(hole.source);
    if (!literal.texts[i].ends_with('$') || hole.begin < 2 ||
        text.substr(hole.begin - 2, 2) != "${" ||
        text.substr(hole.end, 1) != "}")
      continue;
    const std::string own =
        "{" + std::string(evaluator.sources.text(hole)) + "}";
    evaluator.messages
        .report(diag::Kind::UnlikelySetting,
                {hole.source, hole.begin - 2, hole.end + 1},
                "the `$` of `$" + own +
                    "` is part of the text: an interpolation is `" + own + "`")
        .help("write `" + own + "`")
        .fixIt({hole.source, hole.begin - 2, hole.begin - 1}, "");
  }
  const std::string_view written = evaluator.sources.text(range);
  for (size_t at = written.find('$'); at != written.npos && !isLibrary;
       at = written.find('$', at + 1)) {
    const size_t end = endOfVariable(written, at + 1);
    // The variable is a whole part of a path, between slashes or quotation
    // marks.
    const bool isPart =
        at > 0 && (written[at - 1] == '/' || written[at - 1] == '"') &&
        end < written.size() && (written[end] == '/' || written[end] == '"');
    if (end == at + 1 || !isPart)
      continue;
    const SourceRange place{range.source, range.begin + uint32_t(at),
                            range.begin + uint32_t(end)};
    evaluator.messages
        .report(diag::Kind::UnlikelySetting, place,
                "`" + std::string(evaluator.sources.text(place)) +
                    "` is part of the text: a recipe does not read variables "
                    "of the environment")
        .help(wayAround(evaluator));
  }
}

} // namespace recipec::sema
