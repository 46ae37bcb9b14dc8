// `reciperun generate`: prompts in, text out.

#ifndef RECIPERUN_SERVE_COMMANDS_GENERATECOMMAND_H
#define RECIPERUN_SERVE_COMMANDS_GENERATECOMMAND_H

#include "runtime/cli/Command.h"

namespace reciperun::serve {

/// Exit codes: 0 done; 1 failed, also when a prompt could not be answered,
/// which does not stop the others; 128 + n ended by signal n. Answers go to
/// stdout or a file, the reason why one ended early to stderr.
cli::Command generateCommand();

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_COMMANDS_GENERATECOMMAND_H
