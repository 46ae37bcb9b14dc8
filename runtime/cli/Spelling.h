// The name that a misspelt one was most likely meant to be.

#ifndef RECIPERUN_CLI_SPELLING_H
#define RECIPERUN_CLI_SPELLING_H

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace reciperun::cli {

/// The first of the candidates at the smallest edit distance; nothing
/// where more than a third of the longer name would be changed.
std::optional<std::string> nearest(std::string_view name,
                                   const std::vector<std::string>& candidates);

/// "`a`, `b` or `c`" of the names, with `or` as `conjunction`.
std::string quotedList(const std::vector<std::string>& names,
                       std::string_view conjunction);

} // namespace reciperun::cli

#endif // RECIPERUN_CLI_SPELLING_H
