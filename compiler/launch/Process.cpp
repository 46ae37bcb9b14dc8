// See Process.h.

#include "compiler/launch/Process.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ; // POSIX declares it in no header

namespace recipec::launch {
namespace {

/// A pipe whose ends are closed at the latest with the object.
class Pipe {
public:
  Pipe() {
    if (pipe2(ends.data(), O_CLOEXEC) != 0)
      ends = {-1, -1};
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    closeWriting();
    closeReading();
  }

  int reading() const { return ends[0]; }
  int writing() const { return ends[1]; }
  void closeReading() { closeEnd(ends[0]); }
  void closeWriting() { closeEnd(ends[1]); }

private:
  static void closeEnd(int& end) {
    if (end >= 0)
      close(end);
    end = -1;
  }

  std::array<int, 2> ends{};
};

/// Reads once. Closes the pipe at its end.
void readInto(std::string& text, Pipe& pipe) {
  std::array<char, 4096> part;
  const ssize_t count = read(pipe.reading(), part.data(), part.size());
  if (count > 0)
    text.append(part.data(), size_t(count));
  else if (count == 0 || errno != EINTR)
    pipe.closeReading();
}

/// Reads both pipes together, because a process may fill either one first.
void readBoth(Pipe& out, Pipe& err, Answer& answer) {
  out.closeWriting();
  err.closeWriting();
  while (out.reading() >= 0 || err.reading() >= 0) {
    std::array<pollfd, 2> ready = {pollfd{out.reading(), POLLIN, 0},
                                   pollfd{err.reading(), POLLIN, 0}};
    if (poll(ready.data(), ready.size(), -1) < 0 && errno != EINTR)
      return;
    if (ready[0].revents)
      readInto(answer.out, out);
    if (ready[1].revents)
      readInto(answer.err, err);
  }
}

int codeOf(pid_t child) {
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR)
      return 127;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

} // namespace

std::optional<Answer> ask(const std::vector<std::string>& command) {
  std::vector<char*> arguments;
  for (const std::string& each : command)
    arguments.push_back(const_cast<char*>(each.c_str()));
  arguments.push_back(nullptr);
  Pipe out, err;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, out.writing(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, err.writing(), STDERR_FILENO);
  pid_t child = 0;
  const int error = posix_spawnp(&child, arguments[0], &actions, nullptr,
                                 arguments.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0)
    return std::nullopt;
  Answer answer;
  readBoth(out, err, answer);
  answer.code = codeOf(child);
  return answer;
}

std::vector<std::string> linesOf(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    if (end > begin)
      lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

} // namespace recipec::launch
