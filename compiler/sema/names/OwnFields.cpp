// Helps with names that are nearly those of a field; see OwnFields.h.

#include "compiler/sema/names/OwnFields.h"

#include "compiler/sema/Evaluator.h"

#include <algorithm>
#include <cctype>

namespace recipec::sema {
namespace {

/// The earlier value of the field that was meant: `small.hidden` in
/// `small { hidden = 2 * hidden }`, `base.train.steps` in
/// `recipe b amends base { train { ... } }`. Empty if the amended record has no
/// name.
std::string amendedRecord(Evaluator& evaluator, const ast::Name& name,
                          const Env& level) {
  const std::string_view written = evaluator.sources.text(level.object->range);
  const size_t brace = written.find('{');
  std::string head(written.substr(0, brace));
  head.resize(head.find_last_not_of(" \t\n") + 1);
  const std::string path = evaluator.pathOf(*level.object, name.text);
  const bool isName =
      brace != written.npos && !head.empty() &&
      std::all_of(head.begin(), head.end(), [](unsigned char c) {
        return std::isalnum(c) || c == '_' || c == '.';
      });
  // A section's braces begin with its own field name and amend the parent's
  // section.
  const bool isSection = level.object->container && isName &&
                         (path == head + "." + name.text ||
                          path.ends_with("." + head + "." + name.text));
  if (isName && !isSection)
    return head + "." + name.text;
  for (const ast::Declaration& declaration : level.file->declarations) {
    const auto* recipe = std::get_if<ast::RecipeDecl>(&declaration.node);
    if (recipe && recipe->parent != ast::ExprId::none &&
        declaration.range.source == name.range.source &&
        declaration.range.begin <= name.range.begin &&
        name.range.end <= declaration.range.end)
      return std::string(
                 evaluator.sources.text((*level.file)[recipe->parent].range)) +
             "." + path;
  }
  return {};
}

/// The scope whose field is being defined by a value that reads the field's own
/// name; nullptr if `name` is not such a field.
const Env* definitionOf(std::string_view name, const Env& env) {
  for (const Env* at = &env; at; at = at->outer)
    if (at->object && at->defined == name && at->object->find(name))
      return at;
  return nullptr;
}

} // namespace

bool reportBareFile(Evaluator& evaluator, SourceRange name) {
  constexpr std::string_view endings =
      " json jsonl txt md yaml yml csv bin npy safetensors parquet gguf model "
      "recipe ";
  const std::string_view text = evaluator.sources.text(name.source);
  auto isPart = [&](size_t at) {
    return at < text.size() &&
           (std::isalnum(static_cast<unsigned char>(text[at])) ||
            text[at] == '_' || text[at] == '.' || text[at] == '/' ||
            text[at] == '-');
  };
  SourceRange range = name;
  while (range.begin > 0 && isPart(range.begin - 1))
    --range.begin;
  while (isPart(range.end))
    ++range.end;
  const std::string path(evaluator.sources.text(range));
  const size_t dot = path.rfind('.');
  if (dot == path.npos ||
      endings.find(" " + path.substr(dot + 1) + " ") == endings.npos)
    return false;
  evaluator.messages
      .report(diag::Kind::UnknownName, range,
              "the path of a file is a string, and `" + path + "` is none")
      .help("write `\"" + path + "\"`, in quotation marks")
      .fixIt(range, "\"" + path + "\"", diag::Applicability::safe)
      .otherwise("write `\"" + path + "\"`, in quotation marks");
  return true;
}

bool reportOwnField(Evaluator& evaluator, const ast::Name& name,
                    const Env& env) {
  const Env* level = definitionOf(name.text, env);
  if (!level)
    return false;
  if (reportBareFile(evaluator, name.range))
    return true;
  auto builder = evaluator.messages.report(
      diag::Kind::UnknownName, name.range,
      "`" + name.text + "` on the right of `" + name.text +
          " =` is a name of the enclosing scope, and there is none");
  const std::string meant = amendedRecord(evaluator, name, *level);
  if (!meant.empty())
    builder.help("write `" + meant + "` for the value that is amended")
        .fixIt(name.range, meant);
  builder.otherwise("write its value, or the name of a `let`");
  return true;
}

// ---- hyphens

bool Lookup::reportHyphenatedKey(const std::vector<std::string>& keys,
                                 bool isMap, SourceRange member) {
  const std::string_view text = evaluator.sources.text(member.source);
  size_t end = member.end;
  while (end < text.size() &&
         (std::isalnum(static_cast<unsigned char>(text[end])) ||
          text[end] == '_' || text[end] == '-'))
    ++end;
  const SourceRange range{member.source, member.begin, uint32_t(end)};
  const std::string key(evaluator.sources.text(range));
  std::string name = key;
  std::replace(name.begin(), name.end(), '-', '_');
  const std::string& meant = isMap ? key : name;
  if (name == key)
    return false;
  // The part after the hyphen is not a separate mistake.
  hyphenatedKeys.push_back(range);
  if (std::find(keys.begin(), keys.end(), meant) == keys.end())
    return false;
  auto builder = evaluator.messages.report(
      diag::Kind::UnknownName, range,
      "`" + key + "` behind a `.` is a difference: names have no `-`");
  if (isMap)
    builder.help("write `[\"" + key + "\"]` in place of `." + key + "`")
        .fixIt({range.source, range.begin - 1, range.end}, "[\"" + key + "\"]",
               diag::Applicability::safe);
  else
    builder.help("write `" + name + "`")
        .fixIt(range, name, diag::Applicability::safe);
  return true;
}

bool Lookup::isPartOfKey(SourceRange name) const {
  return std::any_of(hyphenatedKeys.begin(), hyphenatedKeys.end(),
                     [&](SourceRange key) {
                       return key.source == name.source &&
                              key.begin <= name.begin && name.end <= key.end;
                     });
}

} // namespace recipec::sema
