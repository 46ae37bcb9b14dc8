// The sampling settings of a model's generation_config.json.

#ifndef RECIPERUN_SERVE_SAMPLING_GENERATIONCONFIG_H
#define RECIPERUN_SERVE_SAMPLING_GENERATIONCONFIG_H

#include "runtime/base/Status.h"

#include <cstdint>
#include <filesystem>
#include <optional>

namespace reciperun::serve {

/// The fields that have a counterpart in SamplingOptions; nullopt where the
/// file has none or null. Others, such as `num_beams`, are ignored.
struct GenerationConfig {
  /// `temperature` of the file, or 0 where its `do_sample` is not true, as in
  /// transformers.
  double temperature = 0;
  std::optional<int64_t> topK; // `top_k`
  std::optional<double> topP;  // `top_p`
  std::optional<double> minP;  // `min_p`
  std::optional<double> repetitionPenalty;
  std::optional<int64_t> maxTokens; // `max_new_tokens`
  std::optional<int64_t> minTokens; // `min_new_tokens`
};

/// Reads the file. Fails, naming file and field, when it cannot be read or a
/// field has another type or a value out of its range.
Expected<GenerationConfig>
readGenerationConfig(const std::filesystem::path& path);

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_SAMPLING_GENERATIONCONFIG_H
