// How long the host computes for steps: the processor's time of the calling
// thread, which gives the device its work. It sleeps where it waits for the
// device. What else it does, such as validating, is left out.

#ifndef RECIPERUN_TRAIN_HOSTCLOCK_H
#define RECIPERUN_TRAIN_HOSTCLOCK_H

#include <time.h>

#include <utility>

namespace reciperun::train {

class HostClock {
public:
  /// The host goes on with steps, and stops to.
  void start() { begin = now(); }
  void stop() { sum += now() - begin; }
  /// The seconds since the last call; while it goes.
  double take() {
    stop();
    start();
    return std::exchange(sum, 0.0);
  }

private:
  static double now() {
    timespec time = {};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return double(time.tv_sec) + double(time.tv_nsec) / 1e9;
  }

  double begin = 0;
  double sum = 0;
};

} // namespace reciperun::train

#endif // RECIPERUN_TRAIN_HOSTCLOCK_H
