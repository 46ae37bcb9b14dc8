// The statistics of the inputs of linear layers that a calibration has
// measured.

#ifndef RECIPERUN_CHECKPOINT_QUANTIZED_INPUTSTATISTICS_H
#define RECIPERUN_CHECKPOINT_QUANTIZED_INPUTSTATISTICS_H

#include "runtime/quantize/ActivationScales.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace reciperun::checkpoint {

/// The statistics of each input, and the matrices that read it. Matrices that
/// read the same input, such as those of queries, keys and values, share its
/// factors, so that other programs can merge these matrices.
struct InputStatistics {
  /// The norm that computes an input, if only the matrices read its result. The
  /// factors can be folded into the norm's weight, so that the input needs
  /// none.
  struct Norm {
    std::string tensor;    // of its weight
    bool centered = false; // it multiplies by 1 + weight
  };
  std::vector<quantize::ActivationStatistics> inputs;
  std::vector<std::optional<Norm>> norms; // by input; may have fewer entries
  /// Maps the name of a matrix's tensor, `X.weight`, to an index of `inputs`.
  std::map<std::string, size_t, std::less<>> inputOf;

  /// Of a matrix that multiplies only some tokens of its input, as an expert
  /// does: their statistics and number. Maps names as `inputOf` does.
  std::vector<quantize::ActivationStatistics> parts;
  std::map<std::string, size_t, std::less<>> partOf;
  /// The matrix whose outputs are a factor of an input, by input: the input's
  /// factors can be folded into the rows of this matrix.
  std::map<size_t, std::string> makerOf;
  /// All experts of all layers, and those that were sent too few tokens and
  /// have the statistics of their layer.
  int64_t experts = 0, sparseExperts = 0;
};

} // namespace reciperun::checkpoint

#endif // RECIPERUN_CHECKPOINT_QUANTIZED_INPUTSTATISTICS_H
