// Counts of a model's requests, as KServe's statistics extension reports them.

#ifndef RECIPERUN_SERVER_MODELS_MODELSTATISTICS_H
#define RECIPERUN_SERVER_MODELS_MODELSTATISTICS_H

#include "runtime/server/models/InferenceObserver.h"

#include <cstdint>
#include <map>
#include <string>

namespace reciperun::server {

/// How often something happened, and the total time of it.
struct DurationCount {
  uint64_t count = 0;
  uint64_t nanoseconds = 0;

  void add(uint64_t time) {
    ++count;
    nanoseconds += time;
  }
};

struct ModelStatistics {
  struct Batch {
    DurationCount computeInput, computeInfer, computeOutput;
  };
  /// Statistics of all responses with the same index within their requests.
  struct Response {
    DurationCount computeInfer, computeOutput, success, fail, emptyResponse,
        cancel;
  };

  std::string name, version;
  uint64_t lastInference = 0;  // milliseconds since 1970; 0: none yet
  uint64_t inferenceCount = 0; // elements of batches
  uint64_t executionCount = 0; // batches
  DurationCount success, fail, queue, computeInput, computeInfer, computeOutput,
      cacheHit, cacheMiss;
  std::map<uint64_t, Batch> batches;      // by size
  std::map<uint64_t, Response> responses; // by index; of decoupled models
  /// Failed requests by Triton's reasons, for its metrics.
  uint64_t rejected = 0, cancelled = 0, failedInBackend = 0, failedOther = 0;
  uint64_t pending = 0; // accepted and not yet begun
  double loadSeconds = 0;
  bool usesCache = false; // of responses; its counts are then exported
  /// Is told of all phases that are noted; may be null.
  InferenceObserver* observer = nullptr;

  /// Counts a batch, or a request that is answered by itself, of so many
  /// elements.
  void noteExecution(uint64_t elements);
  /// Adds the time of a request to its sum.
  void note(InferencePhase phase, uint64_t nanoseconds);
};

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_MODELS_MODELSTATISTICS_H
