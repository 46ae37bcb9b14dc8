// The command line of recipec: its subcommands, and help for options that users
// of other tools expect.

#include "compiler/driver/Driver.h"

#include "compiler/driver/Commands.h"
#include "compiler/driver/ForeignUsage.h"
#include "runtime/cli/Help.h"
#include "runtime/cli/Read.h"

#include <ostream>

namespace recipec::driver {
namespace {

constexpr const char* version = "0.1.0";

cli::Program programOf(Invocation& invocation) {
  return {
      .name = "recipec",
      .purpose = "Compiles a recipe for training a language model into a plan.",
      .notes = "A recipe is named by its file, or by FILE:NAME where a file "
               "holds several; a point of its sweep by FILE:NAME@PATH=VALUE. "
               "`std/...` is a file of the standard library.\n\nExit codes: 0 "
               "done, 1 with diagnostics, 2 wrong usage.",
      .commands = {checkCommand(invocation), planCommand(invocation),
                   estimateCommand(invocation), tuneCommand(invocation),
                   scaleCommand(invocation), reportCommand(invocation),
                   runCommand(invocation), launchCommand(invocation),
                   fmtCommand(invocation), explainCommand(invocation),
                   docCommand(invocation), importNemoCommand(invocation),
                   importManifestCommand(invocation),
                   importBenchCommand(invocation)},
      .foreignCommands = foreignCommands(),
      .version = [] { return "recipec " + std::string(version) + "\n"; },
      .advise = adviseOption,
      .adviseLast = adviseOtherOption,
      .adviseCommand = adviseCommand,
      .refuseOperand = refuseSetting,
      .adviseSurplus = adviseSurplus};
}

} // namespace

int run(std::string_view program, const std::vector<std::string>& arguments,
        std::ostream& out, std::ostream& err) {
  Invocation invocation{.program = program, .out = out, .err = err};
  const cli::Program described = programOf(invocation);
  if (arguments.empty()) {
    err << cli::helpOf(described);
    return exitUsage;
  }
  const cli::Reading reading = cli::read(described, arguments);
  if (reading.error) {
    err << cli::toText(*reading.error);
    return exitUsage;
  }
  if (reading.text.empty())
    return reading.command->run();
  out << reading.text;
  return exitSuccess;
}

} // namespace recipec::driver
