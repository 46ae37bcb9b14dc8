// The evaluated recipe as text, for `--emit=recipe` and `--emit=dataflow`.

#ifndef RECIPEC_RECIPE_PRINT_H
#define RECIPEC_RECIPE_PRINT_H

#include "compiler/recipe/Recipe.h"

#include <string>

namespace recipec::recipe {

/// Every setting with its value in readable units, followed by its origin.
std::string printSettings(const Recipe& recipe, const SourceMap& sources);

/// The dimensions of the model and its traced calls.
std::string printDataflow(const Recipe& recipe, const SourceMap& sources);

} // namespace recipec::recipe

#endif // RECIPEC_RECIPE_PRINT_H
