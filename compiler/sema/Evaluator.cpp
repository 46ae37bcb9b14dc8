// Messages, limits and the small parts of evaluation that need no file of
// their own.

#include "compiler/sema/Evaluator.h"

#include <algorithm>

namespace recipec::sema {
namespace {

/// A recipe of hundreds of layers takes some ten thousand steps; what goes
/// beyond these limits is a mistake, and is to be found in well under a second.
constexpr int64_t maxSteps = 2'000'000;
constexpr int maxDepth = 600;

} // namespace

Value* Locals::find(std::string_view name) {
  for (auto& [key, value] : names)
    if (key == name)
      return &value;
  return nullptr;
}

const Field* Schema::find(std::string_view name) const {
  for (const Field& field : fields)
    if (field.declaration->name.text == name)
      return &field;
  return nullptr;
}

Slot* Object::find(std::string_view name) {
  for (Slot& slot : slots)
    if (slot.name == name)
      return &slot;
  return nullptr;
}

ModuleEntry* Module::find(std::string_view name) {
  auto place = places.find(name);
  return place == places.end() ? nullptr : &entries[place->second].second;
}

bool Evaluator::isLibrary(SourceRange range) const {
  return range.isValid() &&
         sources.kind(range.source) == SourceKind::standardLibrary;
}

diag::Builder Evaluator::report(diag::Kind kind, SourceRange range,
                                std::string message) {
  bool isDerived = !isMuted && isLibrary(range) && !derivations.empty();
  SourceRange rule = range;
  std::vector<Operand> operands;
  const Operand* nearest = nullptr;
  if (isDerived) {
    Derivation derivation = derivations.back();
    // Its operands are evaluated without this detour.
    std::vector<Derivation> outer = std::exchange(derivations, {});
    operands = operandsOf(
        derivation.expr,
        *schemaScope(*derivation.object, derivation.slot ? derivation.slot->name
                                                         : std::string_view()));
    std::vector<const Operand*> candidates =
        suspects(operands, derivation.object);
    nearest = candidates.empty() ? nullptr : candidates.front();
    derivations = std::move(outer);
    range = nearest ? nearest->value.origin.range : derivation.object->range;
  }
  if (isLibrary(range) && recipeRange.isValid())
    range = recipeRange;
  bool isNew =
      !isMuted && reported.emplace(range.source, range.begin, message).second;
  if (!isNew) {
    discarded = {};
    return diag::Builder(discarded);
  }
  diag::Builder builder = engine.report(kind, range, std::move(message));
  if (!(rule == range)) {
    builder.note("found in `" + std::string(sources.text(rule)) + "`", rule);
    noteOperands(builder, operands, nearest ? nearest->slot : nullptr);
  }
  return builder;
}

void Evaluator::reportRecursion(const std::vector<CycleLink>& links) {
  // A circle of more names is understood from its beginning and its end.
  constexpr size_t mostShown = 8;
  auto builder = report(diag::Kind::Recursion, links.front().range,
                        "`" + links.front().name + "` depends on itself");
  if (links.size() == 1)
    return;
  auto need = [&](size_t i) {
    return "`" + links[i].name + "` needs `" +
           links[(i + 1) % links.size()].name + "`";
  };
  builder.label(need(0));
  for (size_t i = 1; i < links.size(); ++i)
    if (i < mostShown || i + 1 == links.size())
      builder.label(links[i].range, need(i));
  if (links.size() > mostShown + 1)
    builder.note("the circle goes through " + std::to_string(links.size()) +
                 " names");
}

std::string Evaluator::pathOf(const Object& object,
                              std::string_view name) const {
  std::string path(name);
  for (const Object* at = &object; at && !at->key.empty(); at = at->container)
    path = std::string(at->key) + "." + path;
  return path;
}

recipe::Origin Evaluator::writtenAt(SourceRange range) const {
  bool isOverride =
      range.isValid() && sources.kind(range.source) == SourceKind::commandLine;
  return {isOverride ? recipe::Origin::Kind::commandLine
                     : recipe::Origin::Kind::written,
          range};
}

bool Evaluator::takeStep(SourceRange range) {
  if (isExhausted)
    return false;
  ++steps;
  if (steps <= maxSteps && depth <= maxDepth)
    return true;
  isExhausted = true;
  if (depth > maxDepth)
    report(diag::Kind::InvalidValue, range,
           "this value depends on more than " + std::to_string(maxDepth) +
               " others in a chain");
  else
    report(diag::Kind::InvalidValue, range,
           "evaluating this recipe takes more than " +
               std::to_string(maxSteps) + " steps")
        .help("look for a range or a list that is larger than it needs to be");
  return false;
}

} // namespace recipec::sema
