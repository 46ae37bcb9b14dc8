// Finds the field of another section that a value was meant for; see
// Namesakes.h.
//
// 1. Search the recipe's schema, and those of its records, for fields of the
//    name that take the value.
// 2. If exactly one is found, propose it. The driver tries the recipe with that
//    field set and without the assignment to the wrong field.

#include "compiler/sema/types/Namesakes.h"

#include "compiler/sema/Evaluator.h"
#include "compiler/sema/types/Convert.h"
#include "compiler/sema/types/TriedValues.h"
#include "compiler/sema/types/TypeHelp.h"
#include "compiler/sema/values/Comments.h"
#include "compiler/sema/values/SetPlaces.h"

#include <algorithm>
#include <cctype>

namespace recipec::sema {
namespace {

/// The deepest path is `cluster.hardware.memory`.
constexpr int deepestNamesake = 3;

struct Namesake {
  std::string path;
  std::string summary; // what it is, in a few words
};

/// Adds the fields called `name` that take `value`.
void collect(Evaluator& evaluator, const Schema& schema, std::string_view name,
             const Value& value, const std::string& path, int depth,
             std::vector<Namesake>& found) {
  for (const Field& field : schema.fields) {
    if (field.declaration->isFixed)
      continue;
    const std::string& own = field.declaration->name.text;
    const std::string whole = path.empty() ? own : path + "." + own;
    const Type& type =
        *evaluator.types.resolve(*schema.layer.env, field.declaration->type);
    if (own == name && convert(evaluator, value, type))
      found.push_back({whole, summaryOf(schema, own)});
    const Schema* inner = onlySchemaOf(type);
    if (inner && depth < deepestNamesake)
      collect(evaluator, *inner, name, value, whole, depth + 1, found);
  }
}

/// `data { sequence = 4096 }`. If the recipe assigns a record along the path,
/// the record is repeated: `cluster { hardware = h100 { memory = 80GiB } }`.
std::string nested(const Evaluator& evaluator, const std::string& path,
                   const std::string& written) {
  const size_t dot = path.rfind('.');
  const std::string setting = path.substr(dot + 1) + " = " + written;
  if (dot == path.npos)
    return setting;
  const std::string around = path.substr(0, dot);
  const std::string braces = " { " + setting + " }";
  const size_t outer = around.find('.');
  if (outer == around.npos)
    return around + braces;
  const SourceRange place =
      evaluator.root ? placeOf(*evaluator.root, around) : SourceRange{};
  const std::string assigned(place.isValid() ? evaluator.sources.text(place)
                                             : std::string_view());
  const bool isPlain =
      !assigned.empty() && assigned.find_first_of("{(\n") == assigned.npos;
  // The value after `=`, or the last name of the assigned path.
  const size_t name = assigned.rfind('.', assigned.find(" ="));
  const std::string own =
      isPlain ? assigned.substr(name == assigned.npos ? 0 : name + 1)
              : around.substr(outer + 1);
  return around.substr(0, outer) + " { " + own + braces + " }";
}

/// The first words of a summary: up to a comma or colon.
std::string inFewWords(std::string summary) {
  summary = summary.substr(0, summary.find_first_of(",:;"));
  if (!summary.empty())
    summary[0] = char(std::tolower(static_cast<unsigned char>(summary[0])));
  return summary;
}

/// The help for the type, used if the proposed namesake leaves an error.
std::string helpOfType(Evaluator& evaluator, const Value& value,
                       const Type& type, SourceRange range) {
  diag::Diagnostic discarded{};
  diag::Builder builder(discarded);
  helpWithType(evaluator, builder, value, type, range);
  return discarded.helps.empty() ? discarded.otherwise
                                 : discarded.helps.front();
}

} // namespace

bool helpWithNamesake(Evaluator& evaluator, diag::Builder& builder,
                      const Value& value, const Type& type, SourceRange range) {
  const auto [object, slot] = evaluator.typing;
  const std::string path = pathBeingSet(evaluator);
  const int64_t* bit = value.get<int64_t>();
  const bool isSwitch = bit && (*bit == 0 || *bit == 1) &&
                        findAlternative(type, [](const Type& each) {
                          return each.kind == Type::Kind::boolean;
                        });
  const bool isNumber = value.isNumber() || value.is<recipe::Quantity>();
  // Among strings, only a path is looked up; other words may be misspellings.
  const std::string* text = value.get<std::string>();
  const bool isPath = text && text->find('/') != text->npos;
  if (path.empty() || slot->chain.empty() || !(isNumber || isPath) || isSwitch)
    return false;
  std::vector<Namesake> found;
  collect(evaluator, *evaluator.recipes.loadedSchema(), slot->name, value, "",
          1, found);
  const Member& member = *slot->chain.front().member;
  if (found.size() != 1 || found[0].path == path || member.given ||
      member.range.source != range.source)
    return false;
  const Namesake& meant = found[0];
  const std::string written(evaluator.sources.text(range));
  const std::string start = "`" + meant.path + "`, " +
                            inFewWords(meant.summary) + ", takes `" + written +
                            "`";
  const bool isArgument =
      evaluator.sources.kind(range.source) == SourceKind::commandLine;
  const std::string set =
      evaluator.root && !isArgument
          ? leaveOut(evaluator, *evaluator.root, meant.path, range.source)
          : std::string();
  if (!set.empty()) {
    builder.help(start + set);
    return true;
  }
  // The path of a `--set` argument ends at its first `=`.
  const size_t sign = evaluator.sources.text(range.source).find('=');
  const SourceRange names{range.source, 0, uint32_t(sign)};
  const diag::WayOut way =
      isArgument ? diag::WayOut{"`--set " + meant.path + "=" + written + "`",
                                {},
                                {{names, meant.path}}}
                 : diag::WayOut{
                       "`" + nested(evaluator, meant.path, written) + "`",
                       {meant.path + "=" + written},
                       {{withSeparator(evaluator.sources, member.range), ""}}};
  const bool isBeside =
      !isArgument && meant.path.find('.') == std::string::npos;
  builder
      .propose({start + ": write ",
                {way},
                isBeside ? " beside `" + path.substr(0, path.find('.')) +
                               "`, not in it"
                         : ""})
      .otherwise(helpOfType(evaluator, value, type, range));
  return true;
}

} // namespace recipec::sema
