// Values as text in the syntax of the language.

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

/// Uses the unit that the user wrote if the number then has at most four
/// decimals, else the largest unit that gives a whole number: `1.5TiB`, `500
/// steps`, `90s`.
std::string formatQuantity(Quantity quantity);

/// `14.9 GiB`, `512 B`: three digits in the largest binary unit.
std::string formatBytes(int64_t bytes);

/// The string in quotes, with the language's escapes.
std::string formatString(std::string_view text);

/// The key of a map as an entry writes it: `a`, or `["a b"]` if it is not a
/// name of the language.
std::string formatKey(std::string_view key);

/// Prints on one line. `dims` gives the names of dimensions.
std::string formatValue(const Value& value, const std::vector<Dim>& dims);

/// Where a value came from: `sft.recipe:9:22`, `default`,
/// `--set parallel.tp=4`, `derived at std/schema/batch.recipe:20:29`.
std::string formatOrigin(const Origin& origin, const SourceMap& sources);

} // namespace recipec::recipe

#endif // RECIPEC_RECIPE_FORMAT_H
