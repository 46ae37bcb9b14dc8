// The program of `reciperun serve`, which is apart from reciperun: other
// commands neither load nor wait for the libraries of HTTP and gRPC.

#ifndef RECIPERUN_SERVER_PROGRAM_SERVERPROGRAM_H
#define RECIPERUN_SERVER_PROGRAM_SERVERPROGRAM_H

#include "runtime/base/Status.h"
#include "runtime/cli/Command.h"

namespace reciperun::server {

/// `serve` as the list of commands shows it, without options.
cli::Command nameServe();

/// Replaces this process by `reciperun-server` from this program's folder, with
/// the same arguments; `argv` ends with a null. Returns only when that failed.
Status startServer(char** argv);

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_PROGRAM_SERVERPROGRAM_H
