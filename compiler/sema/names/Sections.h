// Finds the sections of a recipe that have a field, for names that are unknown
// where they stand. Also reads the recipe's task, which decides the sections
// that apply.

#ifndef RECIPEC_SEMA_NAMES_SECTIONS_H
#define RECIPEC_SEMA_NAMES_SECTIONS_H

#include "compiler/sema/Evaluator.h"

#include <string>
#include <string_view>
#include <vector>

namespace recipec::sema {

/// The fields of `schema` that hold a record with a field `name`.
std::vector<std::string>
sectionsWith(Evaluator& evaluator, const Schema& schema, std::string_view name);

/// `` `data` and `train` ``
std::string joinSections(const std::vector<std::string>& sections);

/// `` `data { seed = 42 }` or `train { seed = 42 }` ``
std::string inSections(const std::vector<std::string>& sections,
                       const std::string& name, const std::string& value);

/// The task of the recipe; empty while it is evaluated.
std::string taskOf(Evaluator& evaluator);

/// Whether recipes with this task answer prompts instead of training.
bool answersPrompts(std::string_view task);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_NAMES_SECTIONS_H
