// `reciperun serve --restart N`: restarts the server after a failure.
//
// This process starts the server, with the ranks of its plan, as a child
// process and waits for its end. The server creates a file, whose path is in
// its environment, when it is ready. A server that was never ready is not
// restarted, and neither is one that was stopped.

#ifndef RECIPERUN_SERVER_COMMANDS_RESTARTS_H
#define RECIPERUN_SERVER_COMMANDS_RESTARTS_H

#include "runtime/server/commands/ServeArguments.h"

namespace reciperun::server {

/// Serves with the options of this process, except `--restart`. Returns the
/// exit code of the last server.
int serveAgain(const ServeArguments& arguments);

/// Tells the process that restarts this server, if there is one, that the
/// server is ready.
void noteReady();

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_COMMANDS_RESTARTS_H
