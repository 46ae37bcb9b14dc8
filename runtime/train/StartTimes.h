// How long a start takes, part by part, for who makes it faster.

#ifndef RECIPERUN_TRAIN_STARTTIMES_H
#define RECIPERUN_TRAIN_STARTTIMES_H

#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace reciperun::train {

class StartTimes {
public:
  /// What has passed since the process began, or since the last mark, was
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
