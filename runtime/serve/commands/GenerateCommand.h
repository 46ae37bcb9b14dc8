// `reciperun generate`: prompts in, text out.

#ifndef RECIPERUN_SERVE_COMMANDS_GENERATECOMMAND_H
#define RECIPERUN_SERVE_COMMANDS_GENERATECOMMAND_H

#include "runtime/cli/Command.h"

namespace reciperun::serve {

/// Exit codes: 0 done, 1 failed. Answers go to stdout, the reason why one ended
/// early to stderr. A prompt that cannot be answered does not stop the others.
cli::Command generateCommand();

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_COMMANDS_GENERATECOMMAND_H
