// The arguments of a call of recipec, and the dispatch to a subcommand.

#ifndef RECIPEC_DRIVER_DRIVER_H
#define RECIPEC_DRIVER_DRIVER_H

#include <cstdint>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace recipec::driver {

/// Exit codes of every subcommand.
inline constexpr int exitSuccess = 0;
inline constexpr int exitDiagnostics =
    1;                              // the input is wrong, or the run failed
inline constexpr int exitUsage = 2; // the command line is wrong

/// `8..64`: 8, 16, 32 and 64 ranks.
struct RankRange {
  int64_t first = 0; // 0: not given
  int64_t last = 0;
};

/// The arguments of a subcommand.
struct Invocation {
  std::string_view program; // path of the executable; reciperun is next to it
  std::ostream& out;        // for results
  std::ostream& err;        // for messages

  std::vector<std::string> inputs = {}; // the positional arguments
  std::vector<std::string> sets = {};   // `PATH=VALUE`, in order
  std::string output = {};              // empty: standard output
  std::string emit = "plan";            // what `plan` prints
  std::string folder = {};       // base of relative paths; empty: the recipe's
  std::string progress = "auto"; // of a run
  std::string hostfile = {};     // of mpirun; empty: this host
  int restarts = 0;              // of a training, after failures
  std::string target = {};       // of `launch`
  bool submits = false;          // `launch` also starts the job
  std::vector<std::string> passedOn = {}; // behind `--`, of mpirun or a server
  bool json = false;
  bool listsKinds = false; // of `explain`
  bool checkOnly = false;
  bool fix = false;
  bool noFiles = false;   // do not check the inputs of a run
  size_t top = 3;         // layouts that `tune` prints
  RankRange ranks = {};   // of `scale`
  std::string svg = {};   // the chart of `scale`; empty: none
  size_t mostErrors = 50; // limit on the printed errors of a file
  std::vector<std::string> silenced = {}; // warnings that are left out
};

/// Runs the command line `arguments`, which excludes the name `program`, and
/// returns the exit code. Results go to `out`, messages to `err`.
int run(std::string_view program, const std::vector<std::string>& arguments,
        std::ostream& out, std::ostream& err);

} // namespace recipec::driver

#endif // RECIPEC_DRIVER_DRIVER_H
