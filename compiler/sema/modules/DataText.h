// Converts strings of data files to values of the language: YAML and JSON have
// no units.

#ifndef RECIPEC_SEMA_MODULES_DATATEXT_H
#define RECIPEC_SEMA_MODULES_DATATEXT_H

#include "compiler/recipe/Recipe.h"

#include <optional>
#include <string>
#include <string_view>

namespace recipec::sema {

/// Parses `80GiB`, `30min`, `500 steps` or `8Ki tokens`, as a recipe would
/// write it; nullopt for any other text.
std::optional<recipe::Quantity> quantityOf(std::string_view text);

/// The number in a data file's text, as digits only: for `1_000`, `100,000` or
/// `64Ki`. Returns nullopt for other texts.
std::optional<std::string> numberIn(std::string_view text);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_MODULES_DATATEXT_H
