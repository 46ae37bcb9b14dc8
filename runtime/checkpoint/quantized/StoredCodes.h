// Loads a quantized tensor into a parameter that is quantized in the same way,
// without rounding: its codes and its scales are copied.

#ifndef RECIPERUN_CHECKPOINT_QUANTIZED_STOREDCODES_H
#define RECIPERUN_CHECKPOINT_QUANTIZED_STOREDCODES_H

#include "runtime/checkpoint/ParameterAccess.h"
#include "runtime/checkpoint/ParameterTensors.h"
#include "runtime/checkpoint/quantized/StoredWeights.h"
#include "runtime/quantize/Quantizers.h"

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace reciperun::checkpoint {

/// A rank's part of a matrix: consecutive rows and columns of a tensor.
struct MatrixBlock {
  int64_t firstRow = 0, rows = 0;
  int64_t firstColumn = 0, columns = 0;
};

/// The block that a shard [rows, columns] of a parameter covers in a tensor
/// with `tensorColumns` columns; nullopt when the shard is not such a block.
std::optional<MatrixBlock> matrixBlockOf(const ShardLayout& layout,
                                         int64_t rows, int64_t columns,
                                         int64_t tensorColumns);

/// Whether a tensor's codes can be copied to a parameter with this scheme: the
/// formats are equal, and elements that share a scale in the parameter also
/// share one in the tensor.
bool holdsCodes(const quantize::Scheme& scheme, const MatrixBlock& block,
                const StoredWeight& stored);

/// Copies codes and scales of a tensor that fits (holdsCodes) to a parameter of
/// a rank. Fails when a value is not finite, and names the tensor.
Status copyCodes(const quantize::Scheme& scheme, const MatrixBlock& block,
                 const StoredWeight& stored, int parameter,
                 ParameterAccess& access);

/// Writes the input factors of a parameter's shard. `all` has a factor for each
/// column of the tensor; those of the shard's columns are written.
Status writeInputScales(const ShardLayout& layout, int64_t columns,
                        std::span<const float> all, int parameter,
                        ParameterAccess& access);

} // namespace reciperun::checkpoint

#endif // RECIPERUN_CHECKPOINT_QUANTIZED_STOREDCODES_H
