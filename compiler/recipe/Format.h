// Values as text, the way that the language writes them.

#ifndef RECIPEC_RECIPE_FORMAT_H
#define RECIPEC_RECIPE_FORMAT_H

#include "compiler/recipe/Recipe.h"

#include <string>
#include <string_view>

namespace recipec::recipe {

/// The shortest text that reads back as the same number, with a point or an
/// exponent: `0.1`, `2e-05`, `1.0`.
std::string formatReal(double value);

/// In the largest unit that takes a whole number: `80GiB`, `500 steps`, `90s`.
std::string formatQuantity(Quantity quantity);

/// In quotes, with the language's escapes.
std::string formatString(std::string_view text);

/// On one line. `dims` names the dimensions that the value may refer to.
std::string formatValue(const Value& value, const std::vector<Dim>& dims);

/// Where a value came from: `sft.recipe:9:22`, `default`,
/// `--set parallel.tp=4`, `derived at std/schema/batch.recipe:20:29`.
std::string formatOrigin(const Origin& origin, const SourceMap& sources);

/// The type that a unit belongs to, as the language names it: `bytes`,
/// `duration`, `steps`, `epochs`, `tokens`.
std::string_view unitTypeName(Unit unit);

} // namespace recipec::recipe

#endif // RECIPEC_RECIPE_FORMAT_H
