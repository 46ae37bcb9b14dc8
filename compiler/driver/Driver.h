// The command line: a table of subcommands, and what each is called with.
//
// `run` finds the subcommand, reads its arguments by the command's own table of
// options and calls it. A subcommand lives in a file of its own
// (CheckCommand.cpp, ...) and gets an Invocation that holds no unread text.

#ifndef RECIPEC_DRIVER_DRIVER_H
#define RECIPEC_DRIVER_DRIVER_H

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace recipec::driver {

/// Exit codes of every subcommand.
inline constexpr int exitSuccess = 0;
inline constexpr int exitDiagnostics = 1; // the input is wrong, or the run was
inline constexpr int exitUsage = 2;       // the command line is wrong

/// The options that some subcommand takes.
enum class OptionId {
  set,
  json,
  output,
  emit,
  checkOnly,
  fix,
  folder,
  noFiles,
  maxErrors,
  progress,
  hostfile
};

/// What a subcommand was asked to do.
struct Invocation {
  std::vector<std::string> inputs;   // the positional arguments
  std::vector<std::string> sets;     // `PATH=VALUE`, in order
  std::string output;                // empty: standard output
  std::string emit;                  // empty: the command's default
  std::string folder;                // of relative paths; empty: the recipe's
  std::string progress;              // of a run; empty: as the terminal is
  std::string hostfile;              // of mpirun; empty: this host
  std::vector<std::string> launcher; // what else mpirun is given, behind `--`
  bool json = false;
  bool checkOnly = false;
  bool fix = false;
  bool noFiles = false;     // do not look for the inputs of a run
  size_t mostErrors = 50;   // that are printed of a file
  std::string_view program; // as it was called; finds its neighbours
  std::ostream& out;
  std::ostream& err;
};

struct Command {
  std::string_view name;
  std::string_view synopsis; // `FILE... [--set PATH=VALUE]...`
  std::string_view summary;  // one line
  std::string_view details;  // what `--help` adds
  std::vector<OptionId> options;
  size_t fewestInputs = 1;
  size_t mostInputs = 1;
  int (*run)(const Invocation&) = nullptr;
  std::string_view needs = "a file"; // where nothing is given
  bool launches = false;             // what stands behind `--` is mpirun's
};

/// All subcommands, in the order in which `--help` lists them.
const std::vector<Command>& commands();

/// Carries out `arguments` (without the program's name, which is `program`);
/// gives the exit code. Results go to `out`, messages to `err`.
int run(std::string_view program, const std::vector<std::string>& arguments,
        std::ostream& out, std::ostream& err);

int runCheck(const Invocation& invocation);
int runPlan(const Invocation& invocation);
int runEstimate(const Invocation& invocation);
int runRun(const Invocation& invocation);
int runFmt(const Invocation& invocation);
int runExplain(const Invocation& invocation);
int runDoc(const Invocation& invocation);

} // namespace recipec::driver

#endif // RECIPEC_DRIVER_DRIVER_H
