// A matrix with its LoRA adapter added to it: W + scale B A (Hu et al. 2021,
// equation 3, with scale = alpha / rank).

#ifndef RECIPERUN_CHECKPOINT_LORAMERGE_H
#define RECIPERUN_CHECKPOINT_LORAMERGE_H

#include "runtime/plan/Plan.h"

#include <cstddef>
#include <span>
#include <vector>

namespace reciperun::checkpoint {

/// Merges a matrix piece by piece, in row order. Accumulates in double and
/// rounds once to the matrix's type.
class LoraMerge {
public:
  /// The elements of a factor in its own type.
  struct Factor {
    plan::DType type;
    std::span<const std::byte> bytes;
  };

  /// `type` is the matrix's; `a` is [rank, in] and `b` [out, rank].
  LoraMerge(plan::DType type, int64_t rank, double scale, Factor a, Factor b);

  /// Adds the product's next rows to `piece`, which has whole rows of `in`
  /// elements.
  void addTo(std::span<std::byte> piece);

private:
  plan::DType type;
  int64_t rank;
  int64_t width; // `in`
  std::vector<double> a;
  std::vector<double> scaledB;
  int64_t row = 0; // the next one
};

} // namespace reciperun::checkpoint

#endif // RECIPERUN_CHECKPOINT_LORAMERGE_H
