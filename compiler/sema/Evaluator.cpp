// Messages and the small parts of evaluation that need no file of
// their own.

#include "compiler/sema/Evaluator.h"

#include "compiler/recipe/Format.h"

#include <algorithm>

namespace recipec::sema {
namespace {

/// A record with fewer fields finds them as fast by looking at each.
constexpr size_t indexedSlots = 32;

} // namespace

Value* Locals::find(std::string_view name) {
  for (auto& [key, value] : names)
    if (key == name)
      return &value;
  return nullptr;
}

const Field* Schema::find(std::string_view name) const {
  if (fields.size() <= indexedSlots) {
    for (const Field& field : fields)
      if (field.declaration->name.text == name)
        return &field;
    return nullptr;
  }
  for (size_t i = places.size(); i < fields.size(); ++i)
    places.emplace(fields[i].declaration->name.text, i);
  auto place = places.find(name);
  return place == places.end() ? nullptr : &fields[place->second];
}

Slot* Object::find(std::string_view name) {
  if (slots.size() <= indexedSlots) {
    for (Slot& slot : slots)
      if (slot.name == name)
        return &slot;
    return nullptr;
  }
  for (size_t i = places.size(); i < slots.size(); ++i)
    places.emplace(slots[i].name, i);
  auto place = places.find(name);
  return place == places.end() ? nullptr : &slots[place->second];
}

const ModuleEntry* Module::find(std::string_view name) const {
  auto place = places.find(name);
  return place == places.end() ? nullptr : &entries[place->second].second;
}

ModuleEntry* Module::find(std::string_view name) {
  return const_cast<ModuleEntry*>(std::as_const(*this).find(name));
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
    if (isPartial && followsDefaults(operands)) {
      ++missing;
      discarded = {};
      return diag::Builder(discarded);
    }
    range = nearest ? nearest->value.origin.range : derivation.object->range;
  }
  if (isLibrary(range) && recipeRange.isValid())
    range = recipeRange;
  bool isNew =
      !isMuted &&
      reported.emplace(range.source, range.begin, diag::causeOf(kind, message))
          .second;
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

diag::Builder Evaluator::reportRecursion(std::vector<CycleLink> links) {
  // A circle is one mistake, wherever evaluation entered it.
  std::rotate(links.begin(),
              std::min_element(links.begin(), links.end(),
                               [&](const CycleLink& a, const CycleLink& b) {
                                 auto placeOf = [&](const CycleLink& link) {
                                   return std::tuple(isLibrary(link.range),
                                                     link.range.source,
                                                     link.range.begin);
                                 };
                                 return placeOf(a) < placeOf(b);
                               }),
              links.end());
  // A circle of more names is understood from its beginning and its end.
  constexpr size_t mostShown = 8;
  auto builder = report(diag::Kind::Recursion, links.front().range,
                        "`" + links.front().name + "` depends on itself");
  if (links.size() == 1)
    return builder;
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
  return builder;
}

std::string Evaluator::pathOf(const Object& object,
                              std::string_view name) const {
  // An element of a list has its index in its key: `layers[2]`.
  auto keyOf = [](std::string_view key) {
    return key.ends_with(']') ? std::string(key) : recipe::formatKey(key);
  };
  std::string path = keyOf(name);
  for (const Object* at = &object; at && !at->key.empty(); at = at->container)
    path = keyOf(at->key) + (path.starts_with('[') ? "" : ".") + path;
  return path;
}

recipe::Origin Evaluator::writtenAt(SourceRange range) const {
  bool isOverride =
      range.isValid() && sources.kind(range.source) == SourceKind::commandLine;
  return {isOverride ? recipe::Origin::Kind::commandLine
                     : recipe::Origin::Kind::written,
          range};
}

} // namespace recipec::sema
