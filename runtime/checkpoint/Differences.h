// Compares two checkpoints, independent of the layouts in which they were
// written.

#ifndef RECIPERUN_CHECKPOINT_DIFFERENCES_H
#define RECIPERUN_CHECKPOINT_DIFFERENCES_H

#include "runtime/checkpoint/StateReader.h"

#include <cstdint>
#include <string>
#include <vector>

namespace reciperun::checkpoint {

/// The difference between a parameter's weights in two checkpoints.
struct ParameterDifference {
  std::string name;
  /// Why the values were not compared: one checkpoint lacks the parameter, or
  /// the shapes differ; empty when they were compared.
  std::string apart;
  std::string types; // `F32 -> BF16`; empty when they are equal
  int64_t elements = 0;
  int64_t different = 0; // number of elements that differ
  double largest = 0;    // |a - b|
  double relative = 0;   // `largest` / the largest |a|

  bool isNone() const {
    return apart.empty() && types.empty() && different == 0;
  }
};

/// Lists the parameters of `a` in order, then those that only `b` has. Reads
/// all weights of both, a piece at a time.
Expected<std::vector<ParameterDifference>> differencesOf(StateReader& a,
                                                         StateReader& b);

} // namespace reciperun::checkpoint

#endif // RECIPERUN_CHECKPOINT_DIFFERENCES_H
