// Runs the programs of a cluster, such as `sinfo` and `kubectl`.

#ifndef RECIPEC_LAUNCH_PROCESS_H
#define RECIPEC_LAUNCH_PROCESS_H

#include <optional>
#include <string>
#include <vector>

namespace recipec::launch {

struct Answer {
  int code = 0; // exit code; 128 + n after signal n
  std::string out, err;

  bool isOk() const { return code == 0; }
};

/// Runs a command to its end. Returns nullopt if there is no such program.
std::optional<Answer> ask(const std::vector<std::string>& command);

/// The lines of a text that are not empty.
std::vector<std::string> linesOf(const std::string& text);

} // namespace recipec::launch

#endif // RECIPEC_LAUNCH_PROCESS_H
