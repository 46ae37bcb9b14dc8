// What runs a model, by the backend that its configuration names.

#ifndef RECIPERUN_SERVER_REPOSITORY_MODELCODES_H
#define RECIPERUN_SERVER_REPOSITORY_MODELCODES_H

#include "runtime/server/backends/ServedEngine.h"
#include "runtime/server/repository/ModelSource.h"

#include <filesystem>
#include <optional>

namespace reciperun::server {

struct ModelPlace {
  std::filesystem::path repository;
  std::filesystem::path folder; // of the model
};

/// The code of a verified configuration that is no ensemble. Fails for a
/// backend that this server does not have, for Python code other than that of
/// TensorRT-LLM's models, and where a language model has no engine or another
/// one.
Expected<ModelCode> makeCode(const inference::ModelConfig& config,
                             const ModelPlace& place,
                             const std::optional<ServedEngine>& engine);

/// The engine's folder that a configuration names; empty: none.
std::filesystem::path engineFolderOf(const inference::ModelConfig& config,
                                     const std::filesystem::path& folder);

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_REPOSITORY_MODELCODES_H
