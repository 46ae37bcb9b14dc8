// Lookup in an evaluated recipe by dotted path.
//
// Sema has checked structure and types against stdlib/schema, so a missing path
// or a wrong type is a bug of the compiler: an assertion.

#include "compiler/recipe/Recipe.h"

#include <cassert>

namespace recipec::recipe {
namespace {

template <class T>
const T* findNamed(const std::vector<std::pair<std::string, T>>& entries,
                   std::string_view name) {
  for (const auto& [key, value] : entries)
    if (key == name)
      return &value;
  return nullptr;
}

template <class T> const T& expect(const Value& value) {
  const T* data = std::get_if<T>(&value.data);
  assert(data && "the field has another type in stdlib/schema");
  return *data;
}

} // namespace

const Value* Record::find(std::string_view name) const {
  return findNamed(fields, name);
}

const Value* Call::find(std::string_view attribute) const {
  for (const Attribute& candidate : attributes)
    if (candidate.name == attribute)
      return &candidate.value;
  return nullptr;
}

const Value* Recipe::find(std::string_view path) const {
  const Value* value = &settings;
  while (!path.empty()) {
    const Record* record = std::get_if<Record>(&value->data);
    if (!record)
      return nullptr;
    size_t dot = path.find('.');
    value = record->find(path.substr(0, dot));
    if (!value || dot == std::string_view::npos)
      return value;
    path.remove_prefix(dot + 1);
  }
  return value;
}

const Value& Recipe::at(std::string_view path) const {
  const Value* value = find(path);
  assert(value && "stdlib/schema has no such path");
  return *value;
}

int64_t Recipe::integer(std::string_view path) const {
  return expect<int64_t>(at(path));
}

double Recipe::real(std::string_view path) const {
  const Value& value = at(path);
  if (const int64_t* whole = std::get_if<int64_t>(&value.data))
    return double(*whole);
  if (const Quantity* quantity = std::get_if<Quantity>(&value.data))
    return quantity->amount;
  return expect<double>(value);
}

bool Recipe::boolean(std::string_view path) const {
  return expect<bool>(at(path));
}

const std::string& Recipe::string(std::string_view path) const {
  return expect<std::string>(at(path));
}

int64_t Recipe::count(std::string_view path) const {
  const Value& value = at(path);
  if (const int64_t* whole = std::get_if<int64_t>(&value.data))
    return *whole;
  if (const DimValue* dim = std::get_if<DimValue>(&value.data))
    return model.dims[size_t(dim->dim)].size;
  return int64_t(expect<Quantity>(value).amount);
}

const Record& Recipe::record(std::string_view path) const {
  return expect<Record>(at(path));
}

double furtherFactor(const Recipe& recipe) {
  for (const Call& call : recipe.model.calls)
    if (call.op == "further_loss") {
      const Value& factor = *call.find("factor");
      const int64_t* whole = std::get_if<int64_t>(&factor.data);
      return whole ? double(*whole) : expect<double>(factor);
    }
  return 0;
}

} // namespace recipec::recipe
