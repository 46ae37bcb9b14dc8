// Documentation of the variables.

#ifndef RECIPEC_ENVIRONMENT_REFERENCE_H
#define RECIPEC_ENVIRONMENT_REFERENCE_H

#include <optional>
#include <string>
#include <string_view>

namespace recipec::environment {

/// What a variable is, its default and values, and the findings on it; nullopt
/// if none of the tables has it.
std::optional<std::string> variableText(std::string_view name);

/// A page in Markdown: a table of the variables that are mistakes with the
/// reason and the remedy of each, and a table of all defaults.
std::string variablesPage();

} // namespace recipec::environment

#endif // RECIPEC_ENVIRONMENT_REFERENCE_H
