// Suggests the correct name for a misspelt one.

#ifndef RECIPERUN_CLI_SPELLING_H
#define RECIPERUN_CLI_SPELLING_H

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace reciperun::cli {

/// The first of the candidates with the smallest edit distance; nullopt when it
/// exceeds a third of the longer name's length.
std::optional<std::string> nearest(std::string_view name,
                                   const std::vector<std::string>& candidates);

/// Formats the names as "`a`, `b` or `c`", with `conjunction` in place of `or`.
std::string quotedList(const std::vector<std::string>& names,
                       std::string_view conjunction);

} // namespace reciperun::cli

#endif // RECIPERUN_CLI_SPELLING_H
