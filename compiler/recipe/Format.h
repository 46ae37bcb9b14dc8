// Values as text, the way that the language writes them.

#ifndef RECIPEC_RECIPE_FORMAT_H
#define RECIPEC_RECIPE_FORMAT_H

#include "compiler/recipe/Recipe.h"
#include "compiler/recipe/Units.h"

#include <string>
#include <string_view>

namespace recipec::recipe {

/// The shortest text that reads back as the same number, with a point or an
/// exponent: `0.1`, `2e-05`, `1.0`.
std::string formatReal(double value);

/// In the unit that the user wrote, where that needs at most four digits behind
/// the point; else in the largest unit that takes a whole number: `1.5TiB`,
/// `500 steps`, `90s`.
std::string formatQuantity(Quantity quantity);

/// In quotes, with the language's escapes.
std::string formatString(std::string_view text);

/// The key of a map as it stands in braces: `a`, or `["a b"]` for what is no
/// name of the language.
std::string formatKey(std::string_view key);

/// On one line. `dims` names the dimensions that the value may refer to.
std::string formatValue(const Value& value, const std::vector<Dim>& dims);

/// Where a value came from: `sft.recipe:9:22`, `default`,
/// `--set parallel.tp=4`, `derived at std/schema/batch.recipe:20:29`.
std::string formatOrigin(const Origin& origin, const SourceMap& sources);

} // namespace recipec::recipe

#endif // RECIPEC_RECIPE_FORMAT_H
