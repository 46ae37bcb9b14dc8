// Runs a job as a child process that can stop gracefully.
//
// 1. The child has its own process group, so a terminal's Ctrl-C reaches only
//    this process. The child dies with this process.
// 2. A pipe that closes on exec reports a failed exec.
// 3. A thread copies the child's output. It continues to read if the output
//    cannot be written, so the child never finds its output closed or full.
// 4. The parent waits. sigwaitinfo receives signals as well as the child's end,
//    so there are no handlers and no globals.

#include "runtime/launch/Launch.h"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <functional>
#include <ostream>
#include <string_view>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace reciperun::launch {
namespace {

sigset_t watchedSignals(bool passesHangup) {
  sigset_t set;
  sigemptyset(&set);
  for (int number : {SIGTERM, SIGINT, SIGUSR1, SIGCHLD})
    sigaddset(&set, number);
  if (passesHangup)
    sigaddset(&set, SIGHUP);
  return set;
}

[[noreturn]] void runChild(std::vector<char*> arguments, int output, int report,
                           const sigset_t& signals) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  // A background process group must not read the terminal, and mpirun would
  // try.
  int none = open("/dev/null", O_RDONLY);
  dup2(none, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  signal(SIGPIPE, SIG_DFL);
  sigprocmask(SIG_SETMASK, &signals, nullptr);
  execvp(arguments[0], arguments.data());
  int error = errno;
  ssize_t written = write(report, &error, sizeof error);
  _exit(written < 0 ? 126 : 127);
}

/// Writes all of it to standard output. Returns 0 or the errno.
int writeAll(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(STDOUT_FILENO, text.data(), text.size());
    if (written < 0 && errno != EINTR)
      return errno;
    text.remove_prefix(size_t(std::max<ssize_t>(written, 0)));
  }
  return 0;
}

/// Copies the pipe `from` to standard output until its end. Sets `hasOutput` if
/// there is any output.
void passOn(int from, std::ostream& err, bool& hasOutput) {
  bool isOpen = true;
  char piece[4096];
  while (true) {
    const ssize_t bytes = read(from, piece, sizeof piece);
    if (bytes == 0 || (bytes < 0 && errno != EINTR))
      break;
    hasOutput |= bytes > 0;
    const int error =
        isOpen && bytes > 0 ? writeAll({piece, size_t(bytes)}) : 0;
    if (error == 0)
      continue;
    isOpen = false;
    err << "note: cannot write to standard output: " << std::strerror(error)
        << "; the run goes on without\n"
        << std::flush;
  }
  close(from);
}

/// Waits for the child's end and forwards signals. Returns the last signal.
int waitPassingSignals(pid_t child, const sigset_t& watched, int& status) {
  int received = 0;
  while (true) {
    int number = sigwaitinfo(&watched, nullptr);
    if (number == SIGCHLD && waitpid(child, &status, WNOHANG) == child)
      return received;
    if (number == SIGHUP)
      kill(child, SIGUSR2);
    if (number == SIGTERM || number == SIGINT || number == SIGUSR1) {
      kill(child, received ? SIGTERM : SIGUSR1);
      received = number;
    }
  }
}

} // namespace

LaunchResult run(const std::vector<std::string>& command, std::ostream& err,
                 bool passesHangup) {
  std::vector<char*> arguments;
  for (const std::string& argument : command)
    arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);

  int report[2], output[2];
  if (pipe2(report, O_CLOEXEC) != 0 || pipe2(output, O_CLOEXEC) != 0)
    return {1, errno};
  signal(SIGCHLD, SIG_DFL); // an inherited SIG_IGN would hide the child's end
  signal(SIGPIPE, SIG_IGN); // a failed write reports it
  sigset_t watched = watchedSignals(passesHangup), before;
  sigprocmask(SIG_BLOCK, &watched, &before);
  pid_t child = fork();
  if (child < 0)
    return {1, errno};
  if (child == 0)
    runChild(arguments, output[1], report[1], before);
  close(report[1]);
  close(output[1]);
  int error = 0;
  bool failed = read(report[0], &error, sizeof error) == sizeof error;
  close(report[0]);

  int status = 0, received = 0;
  bool hasOutput = false;
  {
    const std::jthread copy(passOn, output[0], std::ref(err),
                            std::ref(hasOutput));
    received = waitPassingSignals(child, watched, status);
  }
  sigprocmask(SIG_SETMASK, &before, nullptr);
  if (failed)
    return {1, error};
  int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return {code != 0 && received ? 128 + received : code, 0, received != 0,
          hasOutput};
}

} // namespace reciperun::launch
