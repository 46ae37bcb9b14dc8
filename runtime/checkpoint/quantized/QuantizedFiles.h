// The files beside the tensors of a directory with quantized weights.

#ifndef RECIPERUN_CHECKPOINT_QUANTIZED_QUANTIZEDFILES_H
#define RECIPERUN_CHECKPOINT_QUANTIZED_QUANTIZEDFILES_H

#include "runtime/base/Status.h"
#include "runtime/checkpoint/ModelFiles.h"
#include "runtime/checkpoint/quantized/QuantizationJob.h"
#include "runtime/checkpoint/quantized/QuantizeDirectory.h"

#include <filesystem>
#include <vector>

namespace reciperun::checkpoint {

/// Writes `config.json` with the quantization in compressed-tensors' form, or
/// without it beside `hf_quant_config.json` in ModelOpt's.
Status writeQuantizedConfig(const ModelFiles& model,
                            const std::filesystem::path& target,
                            const std::vector<QuantizationJob>& jobs,
                            const QuantizeOptions& options);

/// Copies the tokenizer's and the model's other small files. Plans are not
/// copied: they are compiled for the weights of the source.
Status copySmallFiles(const ModelFiles& model,
                      const std::filesystem::path& target);

} // namespace reciperun::checkpoint

#endif // RECIPERUN_CHECKPOINT_QUANTIZED_QUANTIZEDFILES_H
