// `reciperun serve --restart N`: a server that starts again after a failure.
//
// This process starts the server, with the ranks of its plan, as another one
// and waits for its end. It starts no server again that was stopped or that
// could not start.

#ifndef RECIPERUN_SERVER_COMMANDS_RESTARTS_H
#define RECIPERUN_SERVER_COMMANDS_RESTARTS_H

#include "runtime/server/commands/ServeArguments.h"

namespace reciperun::server {

/// Serves with the options of this process, except `--restart`. Returns the
/// exit code of the last server.
int serveAgain(const ServeArguments& arguments);

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_COMMANDS_RESTARTS_H
