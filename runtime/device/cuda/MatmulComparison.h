// Which of several algorithms makes a matrix product in the least time.
//
// Training runs at the power limit, where a GPU's clocks follow from what its
// kernels draw: the algorithm that is fastest by itself is not the one that is
// fastest there. Matmuls that take long are therefore compared while the GPU
// is hot, in turns that are long enough for its clocks to follow. They swing
// for longer than that: algorithms take turns, and what counts is an
// algorithm's time as a part of the first one's, in the median of the rounds.

#ifndef RECIPERUN_DEVICE_CUDA_MATMULCOMPARISON_H
#define RECIPERUN_DEVICE_CUDA_MATMULCOMPARISON_H

#include <cstddef>
#include <functional>
#include <optional>

namespace reciperun::device {

class MatmulComparison {
public:
  /// The time in ms of so many repetitions of a product by the algorithm of
  /// that number, behind some before that do not count; none where it cannot
  /// run.
  using Time = std::function<std::optional<float>(size_t algorithm,
                                                  int repetitions, int before)>;

  /// The number of the fastest of `count` algorithms; none where none runs.
  /// Another than the first that runs has to be clearly faster, so that runs
  /// rarely differ.
  std::optional<size_t> fastest(size_t count, const Time& time);

private:
  bool isHot = false; // the GPU, from products that were compared
};

} // namespace reciperun::device

#endif // RECIPERUN_DEVICE_CUDA_MATMULCOMPARISON_H
