// What a calibration has measured of the inputs of linear layers.

#ifndef RECIPERUN_CHECKPOINT_QUANTIZED_INPUTSTATISTICS_H
#define RECIPERUN_CHECKPOINT_QUANTIZED_INPUTSTATISTICS_H

#include "runtime/quantize/ActivationScales.h"

#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace reciperun::checkpoint {

/// The statistics of each input, and the matrices that read it. Matrices with
/// one input, such as those of queries, keys and values, share its factors, so
/// that other programs may join them.
struct InputStatistics {
  /// The norm that computes an input, where nothing but the matrices reads it.
  /// Its weight can take the factors, so that the input needs none.
  struct Norm {
    std::string tensor;    // of its weight
    bool centered = false; // it multiplies by 1 + weight
  };
  std::vector<quantize::ActivationStatistics> inputs;
  std::vector<std::optional<Norm>> norms; // by input; absent ones at the end
  /// An index of `inputs`, by the name of the matrix's tensor, `X.weight`.
  std::map<std::string, size_t, std::less<>> inputOf;
};

} // namespace reciperun::checkpoint

#endif // RECIPERUN_CHECKPOINT_QUANTIZED_INPUTSTATISTICS_H
