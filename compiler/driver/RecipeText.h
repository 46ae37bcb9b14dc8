// The text of recipe files that a command writes.

#ifndef RECIPEC_DRIVER_RECIPETEXT_H
#define RECIPEC_DRIVER_RECIPETEXT_H

#include <string>

namespace recipec::driver {

/// The recipe file in the one style; unchanged if it has errors.
std::string inOneStyle(const std::string& text);

} // namespace recipec::driver

#endif // RECIPEC_DRIVER_RECIPETEXT_H
