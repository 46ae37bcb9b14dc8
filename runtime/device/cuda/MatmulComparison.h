// Chooses the fastest of several algorithms for a matmul.
//
// Training runs at the power limit, where a GPU's clocks depend on the power
// that its kernels draw: the algorithm that is fastest on an idle GPU is not
// the fastest there. Long matmuls are therefore compared while the GPU is hot,
// in measurements that are long enough for its clocks to settle. The clocks
// also fluctuate over longer periods than a measurement. The algorithms are
// therefore timed alternately, in rounds, and rated by the median over the
// rounds of their time relative to the first algorithm's.

#ifndef RECIPERUN_DEVICE_CUDA_MATMULCOMPARISON_H
#define RECIPERUN_DEVICE_CUDA_MATMULCOMPARISON_H

#include <cstddef>
#include <functional>
#include <optional>

namespace reciperun::device {

class MatmulComparison {
public:
  /// The time in ms of `repetitions` matmuls by the algorithm with that index,
  /// after `before` untimed ones; nullopt when it cannot run.
  using Time = std::function<std::optional<float>(size_t algorithm,
                                                  int repetitions, int before)>;

  /// The index of the fastest of `count` algorithms, or nullopt when none runs.
  /// An algorithm other than the first that runs is chosen only if it is
  /// clearly faster, so that runs rarely differ.
  std::optional<size_t> fastest(size_t count, const Time& time);

private:
  bool isHot = false; // the GPU, from earlier comparisons
};

} // namespace reciperun::device

#endif // RECIPERUN_DEVICE_CUDA_MATMULCOMPARISON_H
