// Unique names; see ValueNames.h. One counter per name keeps the search
// constant for a name that each layer wants.

#include "compiler/passes/ValueNames.h"

namespace recipec::passes {

ValueNames::ValueNames(const ir::Module& module)
    : counts(unsigned(module.values.size())) {
  for (const ir::Value& value : module.values)
    counts.try_emplace(value.name, 1);
}

std::string ValueNames::make(const std::string& wanted) {
  std::string candidate = wanted;
  while (!counts.try_emplace(candidate, 1).second)
    candidate = wanted + "." + std::to_string(++counts[wanted]);
  return candidate;
}

std::string_view scopeOf(std::string_view name) {
  size_t dot = name.rfind('.');
  return dot == name.npos ? std::string_view() : name.substr(0, dot);
}

std::string_view lastPart(std::string_view name) {
  size_t dot = name.rfind('.');
  return dot == name.npos ? name : name.substr(dot + 1);
}

std::string join(std::string_view scope, std::string_view name) {
  std::string result(scope);
  if (!scope.empty() && !name.empty())
    result += '.';
  return result += name;
}

} // namespace recipec::passes
