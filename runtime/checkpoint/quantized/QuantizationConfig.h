// The description of quantized weights in a Hugging Face directory.
//
// It is in `quantization_config` of config.json, or, from ModelOpt, in
// hf_quant_config.json. All else follows from the tensors: see StoredWeights.h.

#ifndef RECIPERUN_CHECKPOINT_QUANTIZED_QUANTIZATIONCONFIG_H
#define RECIPERUN_CHECKPOINT_QUANTIZED_QUANTIZATIONCONFIG_H

#include "runtime/base/Status.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace reciperun::checkpoint {

struct QuantizationConfig {
  enum class Method {
    nativeFp8,         // quant_method `fp8`, as DeepSeek-V3's
    compressedTensors, // vLLM's llm-compressor
    modelOpt,          // NVIDIA's ModelOpt
  };
  Method method = Method::nativeFp8;
  std::string where; // names the file and the object, for messages
  /// The size of the blocks that share a scale, if the file states it;
  /// otherwise 0.
  int64_t blockRows = 0, blockColumns = 0;
  /// The bits of packed integers, if all groups have the same; otherwise 0.
  int64_t integerBits = 0;
};

/// Reads the directory's description; nullopt when weights are not quantized.
/// Fails for methods and formats that StoredWeights does not support, naming
/// the file, the field, its value and what is supported.
Expected<std::optional<QuantizationConfig>>
readQuantizationConfig(const std::filesystem::path& directory);

} // namespace reciperun::checkpoint

#endif // RECIPERUN_CHECKPOINT_QUANTIZED_QUANTIZATIONCONFIG_H
