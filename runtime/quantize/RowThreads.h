// A loop over rows on several threads.

#ifndef RECIPERUN_QUANTIZE_ROWTHREADS_H
#define RECIPERUN_QUANTIZE_ROWTHREADS_H

#include <algorithm>
#include <cstdint>
#include <thread>
#include <vector>

namespace reciperun::quantize {

/// Calls body(begin, end) for pieces of [0, count), each on its own thread.
/// `work` is the number of elements that the loop processes in total; a loop
/// with few elements stays on the calling thread.
template <class Body>
void forRows(int threads, int64_t count, int64_t work, Body&& body) {
  constexpr int64_t leastWork = int64_t(1) << 16; // pays for a thread
  const int64_t pieces =
      std::min<int64_t>({threads, count, work / leastWork + 1});
  if (pieces <= 1) {
    if (count > 0)
      body(int64_t(0), count);
    return;
  }
  std::vector<std::thread> workers;
  for (int64_t i = 1; i < pieces; ++i)
    workers.emplace_back([&body, i, pieces, count] {
      body(count * i / pieces, count * (i + 1) / pieces);
    });
  body(int64_t(0), count / pieces);
  for (std::thread& worker : workers)
    worker.join();
}

} // namespace reciperun::quantize

#endif // RECIPERUN_QUANTIZE_ROWTHREADS_H
