// How long the host is busy with steps, rather than waiting for the device or
// with something else, such as validating.

#ifndef RECIPERUN_TRAIN_HOSTCLOCK_H
#define RECIPERUN_TRAIN_HOSTCLOCK_H

#include <chrono>
#include <utility>

namespace reciperun::train {

class HostClock {
public:
  /// The host goes on with steps, and stops to.
  void start() { begin = Clock::now(); }
  void stop() {
    sum += std::chrono::duration<double>(Clock::now() - begin).count();
  }
  /// The seconds since the last call; while it goes.
  double take() {
    stop();
    start();
    return std::exchange(sum, 0.0);
  }

private:
  using Clock = std::chrono::steady_clock;

  Clock::time_point begin;
  double sum = 0;
};

} // namespace reciperun::train

#endif // RECIPERUN_TRAIN_HOSTCLOCK_H
