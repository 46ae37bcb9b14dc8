// The filters of templates, `value | name(arguments)`.

#ifndef RECIPERUN_JINJA_FILTERS_H
#define RECIPERUN_JINJA_FILTERS_H

#include "runtime/jinja/Renderer.h"

#include <span>

namespace reciperun::jinja {

struct FilterDefinition {
  std::string_view name;
  Expected<Value> (*apply)(Renderer& renderer, const Value& operand,
                           const Arguments& arguments);
};

/// Filters of strings and numbers, and of any value.
std::span<const FilterDefinition> valueFilters();
/// Filters of lists and dictionaries.
std::span<const FilterDefinition> listFilters();

} // namespace reciperun::jinja

#endif // RECIPERUN_JINJA_FILTERS_H
