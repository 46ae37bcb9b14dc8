// In what two checkpoints differ, whatever layouts they were written in.

#ifndef RECIPERUN_CHECKPOINT_DIFFERENCES_H
#define RECIPERUN_CHECKPOINT_DIFFERENCES_H

#include "runtime/checkpoint/StateReader.h"

#include <cstdint>
#include <string>
#include <vector>

namespace reciperun::checkpoint {

/// The weights of a parameter in both.
struct ParameterDifference {
  std::string name;
  /// Why the values were not compared: one lacks it, or the shapes differ;
  /// else empty.
  std::string apart;
  std::string types; // `F32 -> BF16`; empty where they are alike
  int64_t elements = 0;
  int64_t different = 0; // of the elements
  double largest = 0;    // |a - b|
  double relative = 0;   // `largest` by the largest |a|

  bool isNone() const {
    return apart.empty() && types.empty() && different == 0;
  }
};

/// In the order of the first one's parameters, then those that it lacks. Reads
/// all weights of both, a piece at a time.
Expected<std::vector<ParameterDifference>> differencesOf(StateReader& a,
                                                         StateReader& b);

} // namespace reciperun::checkpoint

#endif // RECIPERUN_CHECKPOINT_DIFFERENCES_H
