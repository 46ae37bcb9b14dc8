// Runs a job as a child process that can stop gracefully.

#ifndef RECIPERUN_LAUNCH_LAUNCH_H
#define RECIPERUN_LAUNCH_LAUNCH_H

#include <iosfwd>
#include <string>
#include <vector>

namespace reciperun::launch {

struct LaunchResult {
  int exitCode = 0;
  int error = 0;          // errno if the program could not be started
  bool wasAsked = false;  // a signal asked it to end
  bool hasOutput = false; // something was written to standard output
};

/// Runs `command` (an mpirun or one of its ranks) to its end. SIGTERM, SIGINT
/// and SIGUSR1 are forwarded as SIGUSR1, which mpirun passes on to the ranks.
/// The ranks finish their step and exit, however long it takes. A SIGTERM would
/// make mpirun kill them after a second. A second signal is forwarded as
/// SIGTERM. SIGHUP, which mpirun does not pass on, is forwarded as SIGUSR2
/// where `passesHangup`, and ends this process otherwise. The exit code is 128
/// + n if signal n ended the job, else the command's.
///
/// The job's standard output is copied to ours. If ours can no longer be
/// written (`recipec run | head -1`, a full disk), a note goes to `err` and the
/// job continues. With a direct pipe, mpirun would end the job.
LaunchResult run(const std::vector<std::string>& command, std::ostream& err,
                 bool passesHangup = false);

} // namespace reciperun::launch

#endif // RECIPERUN_LAUNCH_LAUNCH_H
