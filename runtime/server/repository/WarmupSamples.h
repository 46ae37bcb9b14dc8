// The requests of `model_warmup`, which a model answers before it comes into
// service.

#ifndef RECIPERUN_SERVER_REPOSITORY_WARMUPSAMPLES_H
#define RECIPERUN_SERVER_REPOSITORY_WARMUPSAMPLES_H

#include "runtime/base/Status.h"
#include "runtime/server/models/InferRequest.h"

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace inference {
class ModelConfig;
} // namespace inference

namespace reciperun::server {

struct WarmupSample {
  std::string name;
  InferRequest request; // with all inputs, and a batch dimension of 1
  size_t batch = 1;     // so many equal requests are answered together
  size_t runs = 1;
};

/// The samples of a verified configuration, without those with a batch size of
/// 0, as in Triton. `folder` is the model's; files of data are below `warmup`
/// in it. Random numbers are in [0, 1) where the type is floating-point; a
/// random text has eight letters. Fails where a file is outside of its folder
/// or does not have the data of its input, and where all data exceed 1 GiB.
Expected<std::vector<WarmupSample>>
warmupSamplesOf(const inference::ModelConfig& config,
                const std::filesystem::path& folder);

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_REPOSITORY_WARMUPSAMPLES_H
