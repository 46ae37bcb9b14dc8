// Words of command lines.

#ifndef RECIPERUN_BASE_SHELL_H
#define RECIPERUN_BASE_SHELL_H

#include <string>
#include <string_view>

namespace reciperun {

/// A word that a POSIX shell reads as `text`: in single quotes, if it needs
/// them.
std::string shellWord(std::string_view text);

} // namespace reciperun

#endif // RECIPERUN_BASE_SHELL_H
