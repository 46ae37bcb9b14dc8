// Measures the parts of a start, for developers who optimize it.

#ifndef RECIPERUN_TRAIN_STARTTIMES_H
#define RECIPERUN_TRAIN_STARTTIMES_H

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace reciperun::train {

class StartTimes {
public:
  /// Assigns the time since the process began, or since the last mark, to
  /// `part`.
  void mark(const char* part);

  /// `start: 8.1 s: 0.3 program, 2.5 device, ...`.
  std::string text() const;

private:
  using Clock = std::chrono::steady_clock;

  std::vector<std::pair<const char*, double>> parts; // seconds
  Clock::time_point last;
};

} // namespace reciperun::train

#endif // RECIPERUN_TRAIN_STARTTIMES_H
