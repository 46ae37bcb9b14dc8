// The subcommands of recipec: each file declares its own, with what it takes.

#ifndef RECIPEC_DRIVER_COMMANDS_H
#define RECIPEC_DRIVER_COMMANDS_H

#include "compiler/driver/Driver.h"
#include "runtime/cli/Command.h"

namespace recipec::driver {

namespace cli = reciperun::cli;

/// Each stores what it is given in `invocation`, which outlives the command.
cli::Command checkCommand(Invocation& invocation);
cli::Command planCommand(Invocation& invocation);
cli::Command estimateCommand(Invocation& invocation);
cli::Command runCommand(Invocation& invocation);
cli::Command fmtCommand(Invocation& invocation);
cli::Command explainCommand(Invocation& invocation);
cli::Command docCommand(Invocation& invocation);

/// Options that several subcommands take.
cli::Option setOption(Invocation& invocation);
cli::Option jsonOption(Invocation& invocation);
cli::Option folderOption(Invocation& invocation);
cli::Option noFilesOption(Invocation& invocation);
cli::Option maxErrorsOption(Invocation& invocation);

} // namespace recipec::driver

#endif // RECIPEC_DRIVER_COMMANDS_H
