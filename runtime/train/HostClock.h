// What the host does beside the device: how long it computes for steps, which
// is the processor's time of the calling thread, and how much time passes. The
// thread gives the device its work, and sleeps where it waits for it. What else
// it does, such as validating, is left out.

#ifndef RECIPERUN_TRAIN_HOSTCLOCK_H
#define RECIPERUN_TRAIN_HOSTCLOCK_H

#include <time.h>

#include <utility>

namespace reciperun::train {

class HostClock {
public:
  /// The host goes on with steps, and stops to.
  void start() { begin = now(); }
  void stop() {
    const Times end = now();
    sum.computed += end.computed - begin.computed;
    sum.passed += end.passed - begin.passed;
  }
  /// The seconds since the last call of the same; while it goes.
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
