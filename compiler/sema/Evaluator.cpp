// Small parts of evaluation that need no file of their own.

#include "compiler/sema/Evaluator.h"

#include "compiler/recipe/Format.h"

#include <algorithm>

namespace recipec::sema {
namespace {

/// Up to this many fields or slots, a linear search is as fast as a hash map.
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

bool Evaluator::isOwnPlace(SourceRange range) const {
  return (range.source == recipeRange.source &&
          range.begin > recipeRange.begin) ||
         (range.isValid() &&
          sources.kind(range.source) == SourceKind::commandLine);
}

bool Evaluator::isLibrary(SourceRange range) const {
  return range.isValid() &&
         sources.kind(range.source) == SourceKind::standardLibrary;
}

std::string Evaluator::pathOf(const Object& object,
                              std::string_view name) const {
  // The key of a list element includes its index: `layers[2]`.
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
