// Parts of shell scripts that several targets write.

#ifndef RECIPEC_LAUNCH_SHELL_H
#define RECIPEC_LAUNCH_SHELL_H

#include "compiler/launch/Job.h"
#include "runtime/base/Shell.h"

#include <string>
#include <string_view>
#include <vector>

namespace recipec::launch {

using reciperun::shellWord;

/// The words as a command, continued over lines of at most 80 columns where it
/// is longer. Words must be quoted already. `indent` begins the further lines.
std::string commandOf(const std::vector<std::string>& words,
                      std::string_view indent = "  ");

/// Lines that export the environment of the ranks and run `launch.setup`. A
/// secret is taken from the environment of the script, which fails without it.
std::string preparationOf(const Job& job);

/// The variables of `launch.env`, and those that the ranks need: the number of
/// threads of CPU ranks.
std::vector<Variable> environmentOf(const Job& job);

/// Lines that let mpirun run as root, which Open MPI refuses otherwise.
std::string_view rootPermission();

/// A function that waits for the process `$job` and sets `code` to its exit
/// code. A signal that the script traps does not end the wait.
std::string_view waitFunction();

} // namespace recipec::launch

#endif // RECIPEC_LAUNCH_SHELL_H
