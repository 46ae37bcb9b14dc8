// The subcommands of recipec. Each file declares its command with its options.

#ifndef RECIPEC_DRIVER_COMMANDS_H
#define RECIPEC_DRIVER_COMMANDS_H

#include "compiler/driver/Driver.h"
#include "runtime/cli/Command.h"

namespace recipec::driver {

namespace cli = reciperun::cli;

/// Each command stores its arguments in `invocation`, which must outlive it.
cli::Command checkCommand(Invocation& invocation);
cli::Command planCommand(Invocation& invocation);
cli::Command estimateCommand(Invocation& invocation);
cli::Command runCommand(Invocation& invocation);
cli::Command launchCommand(Invocation& invocation);
cli::Command fmtCommand(Invocation& invocation);
cli::Command explainCommand(Invocation& invocation);
cli::Command docCommand(Invocation& invocation);
cli::Command importNemoCommand(Invocation& invocation);
cli::Command importManifestCommand(Invocation& invocation);
cli::Command importBenchCommand(Invocation& invocation);
cli::Command reportCommand(Invocation& invocation);
cli::Command tuneCommand(Invocation& invocation);
cli::Command scaleCommand(Invocation& invocation);

/// Options of several subcommands.
cli::Option setOption(Invocation& invocation);
cli::Option jsonOption(Invocation& invocation);
cli::Option folderOption(Invocation& invocation);
cli::Option noFilesOption(Invocation& invocation);
cli::Option maxErrorsOption(Invocation& invocation);

} // namespace recipec::driver

#endif // RECIPEC_DRIVER_COMMANDS_H
