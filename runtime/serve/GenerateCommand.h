// `reciperun generate`: prompts in, text out.

#ifndef RECIPERUN_SERVE_GENERATECOMMAND_H
#define RECIPERUN_SERVE_GENERATECOMMAND_H

#include <string>
#include <vector>

namespace reciperun::serve {

/// Carries out `reciperun generate` and returns the exit code: 0 done, 1
/// failed, 2 a command line that makes no sense. Answers go to stdout, why one
/// ended early to stderr. A prompt that cannot be answered does not keep others
/// from it.
int generateCommand(const std::vector<std::string>& arguments);

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_GENERATECOMMAND_H
