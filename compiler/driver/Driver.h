// What a call of recipec asks for, and the way from its arguments to a
// subcommand.

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

/// What a subcommand was asked to do.
struct Invocation {
  std::string_view program; // as it was called; finds its neighbours
  std::ostream& out;        // for results
  std::ostream& err;        // for messages

  std::vector<std::string> inputs = {}; // the positional arguments
  std::vector<std::string> sets = {};   // `PATH=VALUE`, in order
  std::string output = {};              // empty: standard output
  std::string emit = "plan";            // what `plan` prints
  std::string folder = {};       // of relative paths; empty: the recipe's
  std::string progress = "auto"; // of a run
  std::string hostfile = {};     // of mpirun; empty: this host
  std::vector<std::string> launcher = {}; // what else mpirun is given
  bool json = false;
  bool checkOnly = false;
  bool fix = false;
  bool noFiles = false;   // do not look for the inputs of a run
  size_t mostErrors = 50; // that are printed of a file
};

/// Carries out `arguments` (without the program's name, which is `program`);
/// gives the exit code. Results go to `out`, messages to `err`.
int run(std::string_view program, const std::vector<std::string>& arguments,
        std::ostream& out, std::ostream& err);

} // namespace recipec::driver

#endif // RECIPEC_DRIVER_DRIVER_H
