// The evaluated recipe as text, for `--emit=recipe`.

#ifndef RECIPEC_RECIPE_PRINT_H
#define RECIPEC_RECIPE_PRINT_H

#include "compiler/recipe/Recipe.h"

#include <string>

namespace recipec::recipe {

/// Every setting with its value in readable units and its origin behind it,
/// then the traced dataflow. Ends with a newline.
std::string print(const Recipe& recipe, const SourceMap& sources);

} // namespace recipec::recipe

#endif // RECIPEC_RECIPE_PRINT_H
