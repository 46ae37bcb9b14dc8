// Runs a job as a child process that can stop gracefully.

#ifndef RECIPEC_DRIVER_LAUNCH_H
#define RECIPEC_DRIVER_LAUNCH_H

#include <iosfwd>
#include <string>
#include <vector>

namespace recipec::driver {

struct LaunchResult {
  int exitCode = 0;
  int error = 0;          // errno if the program could not be started
  bool wasAsked = false;  // a signal asked it to end
  bool hasOutput = false; // something was written to standard output
};

/// Runs `command` (an mpirun) to its end. SIGTERM and SIGINT are forwarded as
/// SIGUSR1, which mpirun passes on to the ranks. The ranks finish their step
/// and exit, however long it takes. A SIGTERM would make mpirun kill them after
/// a second. A second signal is forwarded as SIGTERM. The exit code is 128 + n
/// if signal n ended the job, else the command's.
///
/// The job's standard output is copied to ours. If ours can no longer be
/// written (`recipec run | head -1`, a full disk), a note goes to `err` and the
/// job continues. With a direct pipe, mpirun would end the job.
LaunchResult launch(const std::vector<std::string>& command, std::ostream& err);

} // namespace recipec::driver

#endif // RECIPEC_DRIVER_LAUNCH_H
