// Starts a job again after a failure, as a child process of this one.

#ifndef RECIPERUN_LAUNCH_RESTARTS_H
#define RECIPERUN_LAUNCH_RESTARTS_H

#include "runtime/launch/Launch.h"

#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace reciperun::launch {

/// The command line of this process up to a `--`, with the path of the program,
/// without these options and their values.
std::vector<std::string>
ownCommand(const std::vector<std::string_view>& options);

/// Whether a job is started again after a failure.
enum class Worth {
  none,
  again,
  afterProgress, // with the shortest pause
};

/// What is done after a failure. A job that was asked to end is never started
/// again.
struct Restarts {
  int most = 0;
  std::function<Worth(const LaunchResult&)> judge;
  /// The command of a restart; empty, with a warning of the reason, when it
  /// cannot start now: the next restart asks again. Without this function it is
  /// the first one.
  std::function<std::vector<std::string>()> next = {};
  /// Prints a warning, without a prefix.
  std::function<void(const std::string&)> warn;
  std::string job; // in warnings: `the run`
};

/// Runs a command as run() does, up to 1 + `most` times. Before each restart is
/// a pause, which doubles from one second to 30 until there is progress.
/// Returns the last result.
LaunchResult runWithRestarts(const std::vector<std::string>& command,
                             const Restarts& restarts, std::ostream& err,
                             bool passesHangup = false);

} // namespace reciperun::launch

#endif // RECIPERUN_LAUNCH_RESTARTS_H
