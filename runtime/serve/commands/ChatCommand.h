// `reciperun chat`: a conversation with an exported model.

#ifndef RECIPERUN_SERVE_COMMANDS_CHATCOMMAND_H
#define RECIPERUN_SERVE_COMMANDS_CHATCOMMAND_H

#include "runtime/cli/Command.h"

namespace reciperun::serve {

/// Reads messages from stdin until it ends and prints the answers to stdout as
/// they come, notes and errors to stderr. On a terminal it prints a prompt
/// before each message. Exit codes: 0 done; 1 when the model cannot be opened,
/// or, without a terminal, when a message could not be answered.
cli::Command chatCommand();

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_COMMANDS_CHATCOMMAND_H
