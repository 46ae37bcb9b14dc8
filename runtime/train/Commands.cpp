// Collects the commands of reciperun, dispatches to them and flushes their
// output.

#include "runtime/train/Commands.h"

#include "runtime/bench/DeviceCommand.h"
#include "runtime/bench/collectives/CollectiveCommand.h"
#include "runtime/bench/health/HealthCommand.h"
#include "runtime/cli/Help.h"
#include "runtime/cli/Read.h"
#include "runtime/exec/Devices.h"
#include "runtime/plan/Plan.h"
#include "runtime/serve/bench/BenchCommand.h"
#include "runtime/serve/commands/ChatCommand.h"
#include "runtime/serve/commands/GenerateCommand.h"
#include "runtime/topology/TopologyCommand.h"
#include "runtime/train/Exceptions.h"
#include "runtime/train/ForeignUsage.h"
#include "runtime/train/RankJob.h"
#include "runtime/train/report/ReportCommand.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace reciperun::train {
namespace {

std::string versionText() {
  const std::string gpus = exec::gpuNames();
  return "reciperun " RECIPERUN_VERSION ", plans of version " +
         std::to_string(plan::majorVersion) + "." +
         std::to_string(plan::minorVersion) + ", kernels for CPUs " +
         (gpus.empty() ? "alone" : "and GPUs of compute capability " + gpus) +
         "\n";
}

cli::Command benchCommand() {
  std::vector<cli::Command> commands = {serve::benchServeCommand(),
                                        bench::deviceCommand(),
                                        bench::healthCommand()};
  for (cli::Command& each : bench::collectiveCommands())
    commands.push_back(std::move(each));
  return {.name = "bench",
          .synopsis = "serve DIR|device|health|COLLECTIVE [options]",
          .summary = "measure the speed or the health of this machine, or a "
                     "collective between ranks",
          .subcommands = std::move(commands)};
}

cli::Program describeProgram(cli::Command serve) {
  return {.name = "reciperun",
          .purpose = "Carries out the plans that recipec compiles.",
          .notes =
              "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 a rank did not "
              "respond, 128 + n ended by signal n after the step in "
              "progress.",
          .commands = {trainCommand(), evalCommand(), serve::generateCommand(),
                       serve::chatCommand(), std::move(serve), benchCommand(),
                       convertCommand(), checkpointCommand(), storageCommand(),
                       reportCommand(), topology::topologyCommand()},
          .foreignCommands = foreignCommands(),
          .version = versionText,
          .advise = adviseOption,
          .adviseLast = adviseOtherOption,
          .adviseValue = adviseValue,
          .adviseCommand = adviseCommand,
          .refuseOperand = refuseOperand,
          .adviseSurplus = adviseSurplus};
}

int dispatch(const std::vector<std::string>& arguments, cli::Command serve) {
  const cli::Program program = describeProgram(std::move(serve));
  if (arguments.empty()) {
    std::fputs(cli::helpOf(program).c_str(), stderr);
    return 2;
  }
  const cli::Reading reading = cli::read(program, arguments);
  if (reading.error)
    return refuseOnce(*reading.error);
  if (reading.text.empty())
    return reading.command->run();
  std::fputs(reading.text.c_str(), stdout);
  return 0;
}

/// Flushes stdout. Returns `code`, or 1 when the output could not be written
/// and `code` is 0.
int finishOutput(int code) {
  errno = 0;
  const bool isWritten = std::fflush(stdout) == 0 && !std::ferror(stdout);
  if (isWritten)
    return code;
  std::fprintf(stderr, "error: cannot write to standard output: %s\n",
               std::strerror(errno ? errno : EIO));
  return code ? code : 1;
}

} // namespace

int runCommand(const std::vector<std::string>& arguments, cli::Command serve) {
  reportExceptionsOfThreads();
  try {
    return finishOutput(dispatch(arguments, std::move(serve)));
  } catch (...) {
    std::fprintf(stderr, "error: %s\n", statusOfException().message().c_str());
    return 1;
  }
}

} // namespace reciperun::train
