// `reciperun serve --restart N`: a server that starts again after a failure.
//
// This process starts the server, with the ranks of its plan, as another one
// and waits for its end. The server tells by a file, whose path it finds in its
// environment, that it is ready: one that never was is not started again, nor
// is one that was stopped.

#ifndef RECIPERUN_SERVER_COMMANDS_RESTARTS_H
#define RECIPERUN_SERVER_COMMANDS_RESTARTS_H

#include "runtime/server/commands/ServeArguments.h"

namespace reciperun::server {

/// Serves with the options of this process, except `--restart`. Returns the
/// exit code of the last server.
int serveAgain(const ServeArguments& arguments);

/// Tells the process that starts this server again, if there is one, that the
/// server is ready.
void noteReady();

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_COMMANDS_RESTARTS_H
