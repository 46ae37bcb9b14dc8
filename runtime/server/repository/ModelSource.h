// Where the models of a server come from.

#ifndef RECIPERUN_SERVER_REPOSITORY_MODELSOURCE_H
#define RECIPERUN_SERVER_REPOSITORY_MODELSOURCE_H

#include "runtime/base/Status.h"
#include "runtime/server/backends/ServedEngine.h"
#include "runtime/server/models/Backend.h"
#include "runtime/server/models/Classification.h"
#include "runtime/server/models/ModelServer.h"
#include "runtime/server/repository/WarmupSamples.h"
#include "runtime/server/schedule/EnsembleGraph.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace reciperun::server {

/// What runs a version of a model. An ensemble has neither.
struct ModelCode {
  std::vector<std::unique_ptr<BatchBackend>> instances;
  std::unique_ptr<StreamBackend> stream;
};

struct LoadedModel {
  SharedConfig config; // complete and verified
  struct Version {
    int64_t number = 1;
    ModelCode code;
  };
  std::vector<Version> versions; // at least one
  ClassLabels labels;
  std::vector<WarmupSample> warmup;  // each version answers them first
  std::vector<std::string> warnings; // about the configuration
};

/// All functions may be called by several threads at a time.
class ModelSource {
public:
  virtual ~ModelSource() = default;
  /// The engine of language models. Must precede load().
  virtual void setEngine(const ServedEngine& engine) = 0;
  /// The models that there are, in alphabetical order.
  virtual std::vector<std::string> names() const = 0;
  /// Reads a model and prepares its instances. Fails, with Triton's texts,
  /// where its configuration or a file is invalid. Ensembles are verified by
  /// themselves only: their steps may not be loaded yet.
  virtual Expected<LoadedModel> load(const std::string& name,
                                     const LoadOverrides& overrides) const = 0;
  /// A text that changes with the model's files.
  virtual std::string stampOf(const std::string& name) const = 0;
};

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_REPOSITORY_MODELSOURCE_H
