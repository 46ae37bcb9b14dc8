// What a model of a repository runs.

#ifndef RECIPERUN_SERVER_MODELS_BACKEND_H
#define RECIPERUN_SERVER_MODELS_BACKEND_H

#include "runtime/base/Status.h"
#include "runtime/server/models/Inference.h"

#include <memory>
#include <span>
#include <vector>

namespace reciperun::server {

/// Answers batches. Each instance of a model has an object and a thread of its
/// own. One call comes at a time: those of the warm-up from threads that load
/// models, all others from the instance's thread.
class BatchBackend {
public:
  using Answer = Expected<std::vector<Tensor>>;

  virtual ~BatchBackend() = default;
  /// The outputs for each request, or why it fails, in the order of the batch.
  /// Inputs are there, and of the type and shape of the configuration.
  virtual std::vector<Answer>
  execute(std::span<const InferRequest* const> batch) = 0;
};

/// Answers each request by itself, with any number of responses, on the
/// server's thread.
class StreamBackend {
public:
  virtual ~StreamBackend() = default;
  /// Must not block. Follows the request's cancellation.
  virtual void start(std::shared_ptr<Inference> inference) = 0;
  /// Why it cannot answer requests at this time; ok where it can.
  virtual Status health() const { return Status::ok(); }
};

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_MODELS_BACKEND_H
