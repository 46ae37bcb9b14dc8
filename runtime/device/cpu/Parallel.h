// Loops over a CPU rank's threads.
//
// A range is cut into one contiguous piece per thread, or taken item by item
// when the items differ in cost. Neither way affects results: a kernel that
// reduces cuts its range into pieces that do not depend on the number of
// threads.

#ifndef RECIPERUN_DEVICE_CPU_PARALLEL_H
#define RECIPERUN_DEVICE_CPU_PARALLEL_H

#include <algorithm>
#include <cstdint>

#include <omp.h>

namespace reciperun::device {

/// Sets the thread count of libraries that follow the calling thread's OpenMP
/// setting.
inline void useThreads(int threads) {
  omp_set_num_threads(threads);
}

/// The number of threads for `steps` multiply-adds: one if the work takes less
/// time than waking up other threads.
inline int threadsFor(int threads, int64_t steps) {
  constexpr int64_t small = 1 << 16;
  return steps < small ? 1 : threads;
}

/// Calls body(begin, end) on pieces that cover [0, count). A piece begins at a
/// multiple of `grain`; a range of one grain stays on the calling thread.
template <class Body>
void parallelFor(int threads, int64_t count, int64_t grain, Body&& body) {
  const int64_t grains = (count + grain - 1) / grain;
  const int64_t pieces = std::min<int64_t>(threads, grains);
  if (pieces <= 1) {
    if (count > 0)
      body(int64_t(0), count);
    return;
  }
#pragma omp parallel for num_threads(int(pieces)) schedule(static, 1)
  for (int64_t piece = 0; piece < pieces; ++piece) {
    const int64_t begin = grains * piece / pieces * grain;
    const int64_t end = std::min(grains * (piece + 1) / pieces * grain, count);
    body(begin, end);
  }
}

/// Calls body(item, thread) for each item in [0, count) on the next free
/// thread; `thread` is in [0, threads).
template <class Body>
void parallelItems(int threads, int64_t count, Body&& body) {
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
  for (int64_t item = 0; item < count; ++item)
    body(item, omp_get_thread_num());
}

} // namespace reciperun::device

#endif // RECIPERUN_DEVICE_CPU_PARALLEL_H
