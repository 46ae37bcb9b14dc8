// How a server can store the weights of a quantized directory without
// quantizing them again.

#ifndef RECIPERUN_CHECKPOINT_QUANTIZED_SERVINGFORMAT_H
#define RECIPERUN_CHECKPOINT_QUANTIZED_SERVINGFORMAT_H

#include "runtime/checkpoint/ModelFiles.h"

#include <string>
#include <string_view>
#include <vector>

namespace reciperun::checkpoint {

/// Whether a tensor's name is that of a linear layer's matrix: `X.weight`, but
/// of no embedding, norm or router and not of the logits.
bool isLinearName(std::string_view name);

/// Values for the fields of `serve` with which a server copies the codes of a
/// directory (StoredCodes.h).
struct ServingFormat {
  std::string weights = "bf16"; // `serve.weights`
  bool hasBlocks = false;       // `serve.fp8_scales = "block"`
  bool quantizesLogits = false; // `serve.quantize_logits`
  /// `serve.exclude_modules`: linear layers that the directory stores in
  /// another way. They are dequantized into the compute type.
  std::vector<std::string> excluded;
};

/// The format of most elements, among the formats that a server supports: fp8
/// and int8 with scales of rows or one scale, fp8 with scales of blocks and
/// int4 with scales of groups whose sizes are multiples of the server's.
/// `"bf16"` for a directory without such weights. Fails when the directory's
/// quantization is not supported (StoredWeights.h).
Expected<ServingFormat> servingFormatOf(const ModelFiles& model);

} // namespace reciperun::checkpoint

#endif // RECIPERUN_CHECKPOINT_QUANTIZED_SERVINGFORMAT_H
