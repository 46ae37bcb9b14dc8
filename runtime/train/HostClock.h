// Measures the host's work for training steps: the CPU time of the calling
// thread, and the wall time. The thread launches the device's work and sleeps
// while it waits for the device. Other work, such as validation, is not
// counted.

#ifndef RECIPERUN_TRAIN_HOSTCLOCK_H
#define RECIPERUN_TRAIN_HOSTCLOCK_H

#include <time.h>

#include <utility>

namespace reciperun::train {

class HostClock {
public:
  /// Starts and stops the clock around work for steps.
  void start() { begin = now(); }
  void stop() {
    const Times end = now();
    sum.computed += end.computed - begin.computed;
    sum.passed += end.passed - begin.passed;
  }
  /// The CPU and the wall time in seconds since the last call of the same
  /// function. The clock must be running.
  double takeComputed() {
    goOn();
    return std::exchange(sum.computed, 0.0);
  }
  double takePassed() {
    goOn();
    return std::exchange(sum.passed, 0.0);
  }

private:
  struct Times {
    double computed = 0;
    double passed = 0;
  };

  static double read(clockid_t clock) {
    timespec time = {};
    clock_gettime(clock, &time);
    return double(time.tv_sec) + double(time.tv_nsec) / 1e9;
  }
  static Times now() {
    return {read(CLOCK_THREAD_CPUTIME_ID), read(CLOCK_MONOTONIC)};
  }
  void goOn() {
    stop();
    start();
  }

  Times begin;
  Times sum;
};

} // namespace reciperun::train

#endif // RECIPERUN_TRAIN_HOSTCLOCK_H
