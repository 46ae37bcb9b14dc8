// Converts strings of data files to values of the language: YAML and JSON have
// no units.

#ifndef RECIPEC_SEMA_MODULES_DATATEXT_H
#define RECIPEC_SEMA_MODULES_DATATEXT_H

#include "compiler/recipe/Recipe.h"

#include <optional>
#include <string_view>

namespace recipec::sema {

/// Parses `80GiB`, `30min`, `500 steps` or `8Ki tokens`, as a recipe would
/// write it; nullopt for any other text.
std::optional<recipe::Quantity> quantityOf(std::string_view text);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_MODULES_DATATEXT_H
