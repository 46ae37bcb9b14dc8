// The models of a repository behind one interface, without a protocol: KServe
// over HTTP and over gRPC are views of it.
//
// All failures carry the StatusCode and the text that Triton gives, so that a
// protocol only maps the code. Belongs to the server's thread.

#ifndef RECIPERUN_SERVER_MODELS_MODELSERVER_H
#define RECIPERUN_SERVER_MODELS_MODELSERVER_H

#include "runtime/base/Status.h"
#include "runtime/server/models/Inference.h"
#include "runtime/server/models/ModelStatistics.h"

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace inference {
class ModelConfig; // model_config.proto
}

namespace reciperun::server {

struct TensorMetadata {
  std::string name;
  DataType type = DataType::bytes;
  std::vector<int64_t> shape; // -1: any; with the batch dimension
};

struct ModelMetadata {
  std::string name;
  std::vector<std::string> versions;
  std::string platform;
  std::vector<TensorMetadata> inputs, outputs;
  bool isBatched = false;   // the shapes begin with the batch dimension
  bool isDecoupled = false; // a request has any number of responses
};

struct IndexEntry {
  std::string name;
  std::string version; // this, `state` and `reason` are empty: never loaded
  std::string state;   // `READY`, `UNAVAILABLE`, `LOADING`, `UNLOADING`
  std::string reason;
};

/// What a request to load a model overrides.
struct LoadOverrides {
  std::optional<std::string> config; // JSON of a ModelConfig
  /// Contents by path below the model's folder.
  std::map<std::string, std::string> files;
};

class ModelServer {
public:
  virtual ~ModelServer() = default;

  /// False once the server stops; it then refuses new requests.
  virtual bool isLive() const = 0;
  /// Whether all models that were asked for are ready.
  virtual bool isReady() const = 0;

  // Version -1 is the greatest that is ready. These fail with notFound for an
  // unknown model or version, and unavailable for one that is not ready.

  virtual Expected<bool> isModelReady(const std::string& model,
                                      int64_t version) const = 0;
  virtual Expected<ModelMetadata> metadata(const std::string& model,
                                           int64_t version) const = 0;
  virtual Expected<std::shared_ptr<const inference::ModelConfig>>
  config(const std::string& model, int64_t version) const = 0;
  /// Of all models where `model` is empty, of all versions where `version` is
  /// -1.
  virtual Expected<std::vector<ModelStatistics>>
  statistics(const std::string& model, int64_t version) const = 0;

  /// Starts a request. All of its failures, also those of its form, arrive as
  /// its response, at once or later.
  virtual std::shared_ptr<Inference> infer(InferRequest request,
                                           Inference::Respond respond) = 0;

  // ---- the repository

  virtual std::vector<IndexEntry> index(bool readyOnly) const = 0;
  /// Loads a model, or loads it again; `then` runs when that is done.
  virtual void load(const std::string& model, LoadOverrides overrides,
                    std::function<void(Status)> then) = 0;
  /// Takes a model, with the models of its steps where `dependents`, out of
  /// service; requests that it has begun are answered.
  virtual void unload(const std::string& model, bool dependents,
                      std::function<void(Status)> then) = 0;
};

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_MODELS_MODELSERVER_H
