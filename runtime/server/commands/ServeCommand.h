// `reciperun serve`: a model behind HTTP.

#ifndef RECIPERUN_SERVER_COMMANDS_SERVECOMMAND_H
#define RECIPERUN_SERVER_COMMANDS_SERVECOMMAND_H

#include "runtime/cli/Command.h"

namespace reciperun::server {

/// Exit codes: 0 stopped by a signal after all open answers; 1 failed, also
/// when open answers took longer than `--drain-timeout`.
cli::Command serveCommand();

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_COMMANDS_SERVECOMMAND_H
