// The units of the language: their names, sorts and sizes.

#ifndef RECIPEC_RECIPE_UNITS_H
#define RECIPEC_RECIPE_UNITS_H

#include "compiler/recipe/Recipe.h"

#include <span>
#include <string_view>

namespace recipec::recipe {

/// A unit as it is written behind a number.
struct UnitName {
  std::string_view name; // `GiB`, `min`, `steps`
  Unit unit;
  double scale; // in the base of `unit`: bytes, seconds, steps, ...
};

/// All units; those of one sort stand together, smallest first.
std::span<const UnitName> unitNames();

/// None for a name that is no unit.
const UnitName* findUnit(std::string_view name);

/// The type that a unit belongs to, as the language names it: `bytes`,
/// `duration`, `steps`, `epochs`, `tokens`.
std::string_view unitTypeName(Unit unit);

/// Whether amounts are counts that have no fractions: bytes, steps, tokens.
/// Half an epoch is a place in the data, and half a second a duration.
bool isWhole(Unit unit);

} // namespace recipec::recipe

#endif // RECIPEC_RECIPE_UNITS_H
