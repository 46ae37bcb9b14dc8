// Texts of data files as values of the language: YAML and JSON have no units.

#ifndef RECIPEC_SEMA_MODULES_DATATEXT_H
#define RECIPEC_SEMA_MODULES_DATATEXT_H

#include "compiler/recipe/Recipe.h"

#include <optional>
#include <string_view>

namespace recipec::sema {

/// `80GiB`, `30min`, `500 steps`, `8Ki tokens`, as a recipe would write it;
/// none for any other text.
std::optional<recipe::Quantity> quantityOf(std::string_view text);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_MODULES_DATATEXT_H
