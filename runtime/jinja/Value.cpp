// Value: contents and truth. Frees nested values.

#include "runtime/jinja/Value.h"

#include "runtime/jinja/Budget.h"

#include <nlohmann/json.hpp>

#include <iterator>

namespace reciperun::jinja {
namespace {

/// Frees the values of a container. If they hold the last reference to other
/// containers, the values of those are appended to the list instead of freed
/// recursively: a template can nest a million lists, which would overflow the
/// stack.
void freeValues(List values) {
  thread_local List* pending = nullptr;
  if (pending) {
    pending->insert(pending->end(), std::move_iterator(values.begin()),
                    std::move_iterator(values.end()));
    return;
  }
  pending = &values;
  while (!values.empty()) {
    const Value last = std::move(values.back());
    values.pop_back();
  }
  pending = nullptr;
}

void freeList(List* list) {
  freeValues(std::move(*list));
  delete list;
}

void freeDict(Dict* dict) {
  List values;
  for (auto& [key, value] : dict->entries)
    values.push_back(std::move(value));
  freeValues(std::move(values));
  delete dict;
}

/// The position of an entry; the number of entries when there is none.
Expected<size_t> positionOf(const Dict& dict, std::string_view key,
                            Budget& budget) {
  size_t reads = 0, position = 0;
  for (const auto& [name, value] : dict.entries) {
    reads += name.size() == key.size() ? 1 + key.size() : 1;
    if (name == key)
      break;
    ++position;
  }
  RECIPERUN_TRY(budget.takeReads(reads));
  return position;
}

size_t bytesOfEntry(std::string_view key) {
  return key.size() + sizeof(Dict::entries[0]);
}

} // namespace

Value::Value(Undefined undefined)
    : held(std::make_shared<const Undefined>(std::move(undefined))) {}

Value::Value(std::string text)
    : held(std::make_shared<const std::string>(std::move(text))) {}

Value::Value(List elements)
    : held(std::shared_ptr<List>(new List(std::move(elements)), freeList)) {}

Value::Value(Dict dict)
    : held(std::shared_ptr<Dict>(new Dict(std::move(dict)), freeDict)) {}

Value::Value(Function function)
    : held(std::make_shared<const Function>(std::move(function))) {}

int64_t Value::integer() const {
  const bool* flag = std::get_if<bool>(&held);
  return flag ? int64_t(*flag) : std::get<int64_t>(held);
}

double Value::real() const {
  const double* real = std::get_if<double>(&held);
  return real ? *real : double(integer());
}

bool Value::isTrue() const {
  if (isNumber())
    return real() != 0;
  if (string())
    return !string()->empty();
  if (list())
    return !list()->empty();
  if (dict())
    return dict()->isNamespace || !dict()->entries.empty();
  return function() != nullptr;
}

std::string_view Value::typeName() const {
  constexpr std::string_view names[] = {"undefined", "none",  "bool",
                                        "int",       "float", "str",
                                        "list",      "dict",  "function"};
  static_assert(std::size(names) == std::variant_size_v<decltype(held)>);
  return names[held.index()];
}

Expected<const Value*> Dict::find(std::string_view key, Budget& budget) const {
  Expected<size_t> position = positionOf(*this, key, budget);
  RECIPERUN_TRY(position);
  return *position < entries.size() ? &entries[*position].second : nullptr;
}

Status Dict::set(std::string_view key, Value value, Budget& budget) {
  Expected<size_t> position = positionOf(*this, key, budget);
  RECIPERUN_TRY(position);
  if (*position < entries.size()) {
    entries[*position].second = std::move(value);
    return {};
  }
  RECIPERUN_TRY(budget.takeBytes(bytesOfEntry(key)));
  entries.emplace_back(key, std::move(value));
  return {};
}

size_t Dict::bytes() const {
  size_t sum = 0;
  for (const auto& [key, value] : entries)
    sum += bytesOfEntry(key);
  return sum;
}

const Value* Arguments::find(size_t position, std::string_view name) const {
  if (position < positional.size())
    return &positional[position];
  for (const auto& [given, value] : named)
    if (given == name)
      return &value;
  return nullptr;
}

Value fromJson(const nlohmann::ordered_json& json) {
  if (json.is_null())
    return None{};
  if (json.is_boolean())
    return json.get<bool>();
  if (json.is_number_integer())
    return json.get<int64_t>();
  if (json.is_number())
    return json.get<double>();
  if (json.is_string())
    return json.get<std::string>();
  if (json.is_array()) {
    List list;
    for (const nlohmann::ordered_json& element : json)
      list.push_back(fromJson(element));
    return list;
  }
  Dict dict;
  for (const auto& [key, element] : json.items())
    dict.entries.emplace_back(key, fromJson(element));
  return dict;
}

} // namespace reciperun::jinja
