// The command line of recipec: its subcommands, and help for options that users
// of other tools expect.

#include "compiler/driver/Driver.h"

#include "compiler/driver/Commands.h"
#include "compiler/driver/LibraryIndex.h"
#include "runtime/cli/Help.h"
#include "runtime/cli/Read.h"

#include <algorithm>
#include <ostream>

namespace recipec::driver {
namespace {

constexpr const char* version = "0.1.0";

/// The setting that another tool has as an option, such as
/// `--tensor-parallel-size`; empty if none is known.
std::string settingKnownAs(const std::string& option) {
  std::string name =
      option.substr(std::min(option.find_first_not_of('-'), option.size()));
  std::replace(name.begin(), name.end(), '-', '_');
  SourceMap sources;
  diag::Engine engine;
  FileLoader loader(sources, engine);
  return LibraryIndex(loader).settingOf(name);
}

std::string advise(const cli::Command& command, const std::string& option) {
  if (std::string path = settingKnownAs(option); !path.empty())
    return "a setting is given as `--set " + path + "=VALUE`";
  if (command.passedOn && (option.starts_with("-n") || option == "--np"))
    return "the recipe sets the number of ranks: `--set cluster.ranks=N`; pass "
           "other options of mpirun behind `--`";
  return "";
}

cli::Program programOf(Invocation& invocation) {
  return {
      .name = "recipec",
      .purpose = "Compiles a recipe for training a language model into a plan.",
      .notes = "A recipe is named by its file, or by FILE:NAME where a file "
               "holds several; a point of its sweep by FILE:NAME@PATH=VALUE. "
               "`std/...` is a file of the standard library.\n\nExit codes: 0 "
               "done, 1 with diagnostics, 2 wrong usage.",
      .commands = {checkCommand(invocation), planCommand(invocation),
                   estimateCommand(invocation), runCommand(invocation),
                   fmtCommand(invocation), explainCommand(invocation),
                   docCommand(invocation)},
      .foreignCommands = {{"train", "recipec run"},
                          {"launch", "recipec run"},
                          {"start", "recipec run"},
                          {"pretrain", "recipec run"},
                          {"finetune", "recipec run"},
                          {"resume", "recipec run"},
                          {"compile", "recipec plan"},
                          {"build", "recipec plan"},
                          {"lint", "recipec check"},
                          {"validate", "recipec check"},
                          {"verify", "recipec check"},
                          {"profile", "recipec estimate"},
                          {"predict", "recipec estimate"},
                          {"version", "recipec --version"},
                          {"generate", "reciperun generate"},
                          {"convert", "reciperun convert"},
                          {"export", "reciperun convert"}},
      .version = [] { return "recipec " + std::string(version) + "\n"; },
      .advise = advise};
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
