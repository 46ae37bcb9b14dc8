// A job as a child process that is asked, not forced, to stop.

#ifndef RECIPEC_DRIVER_LAUNCH_H
#define RECIPEC_DRIVER_LAUNCH_H

#include <iosfwd>
#include <string>
#include <vector>

namespace recipec::driver {

struct LaunchResult {
  int exitCode = 0;
  int error = 0;         // errno where the program could not be started
  bool wasAsked = false; // to end, by a signal
};

/// Runs `command` (an mpirun) to its end. SIGTERM and SIGINT reach it as
/// SIGUSR1, which mpirun passes on to the ranks: they finish their step and
/// end by themselves, however long it takes, while a SIGTERM would make mpirun
/// kill them after a second. A second signal is passed on as SIGTERM. The
/// exit code is 128 + n when signal n ended the job, else the command's.
///
/// Its standard output is passed on. Where ours cannot be written to any more
/// (`recipec run | head -1`, a full disk), a note says so in `err`, and the job
/// goes on: mpirun would end it.
LaunchResult launch(const std::vector<std::string>& command, std::ostream& err);

} // namespace recipec::driver

#endif // RECIPEC_DRIVER_LAUNCH_H
