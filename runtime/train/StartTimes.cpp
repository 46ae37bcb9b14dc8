// The first part begins with the process, whose start time the system knows
// (starttime of proc(5), in ticks since boot).

#include "runtime/train/StartTimes.h"

#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <fstream>
#include <sstream>

namespace reciperun::train {
namespace {

/// Seconds since the process started, to the tick; 0 when the system does not
/// report it.
double secondsOfProcess() {
  std::ifstream file("/proc/self/stat");
  std::string line;
  std::getline(file, line);
  const size_t name = line.rfind(')'); // the name may contain any character
  timespec now = {};
  if (name == std::string::npos || clock_gettime(CLOCK_BOOTTIME, &now) != 0)
    return 0;
  std::istringstream fields(line.substr(name + 1));
  std::string skipped;
  for (int field = 3; field < 22; ++field)
    fields >> skipped;
  int64_t ticks = 0;
  if (!(fields >> ticks))
    return 0;
  return double(now.tv_sec) + double(now.tv_nsec) / 1e9 -
         double(ticks) / double(sysconf(_SC_CLK_TCK));
}

std::string secondsText(double seconds) {
  char digits[32];
  std::snprintf(digits, sizeof digits, "%.2f", seconds);
  return digits;
}

} // namespace

void StartTimes::mark(const char* part) {
  const auto now = Clock::now();
  const double passed = parts.empty()
                            ? secondsOfProcess()
                            : std::chrono::duration<double>(now - last).count();
  parts.emplace_back(part, passed);
  last = now;
}

std::string StartTimes::text() const {
  double all = 0;
  std::string list;
  for (const auto& [part, seconds] : parts) {
    all += seconds;
    list += (list.empty() ? ": " : ", ") + secondsText(seconds) + " " + part;
  }
  return "start: " + secondsText(all) + " s" + list;
}

} // namespace reciperun::train
