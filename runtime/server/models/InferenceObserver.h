// Observes each request that a model answers, for histograms and summaries;
// ModelStatistics has only sums.

#ifndef RECIPERUN_SERVER_MODELS_INFERENCEOBSERVER_H
#define RECIPERUN_SERVER_MODELS_INFERENCEOBSERVER_H

#include <cstdint>
#include <string>

namespace reciperun::server {

/// A part of a request's time.
enum class InferencePhase {
  firstResponse, // from the arrival to the first response
  request,       // from the arrival to the end, with success
  queue,
  computeInput,
  computeInfer,
  computeOutput,
  cacheHit,
  cacheMiss,
};

class InferenceObserver {
public:
  virtual ~InferenceObserver() = default;

  virtual void note(const std::string& model, const std::string& version,
                    InferencePhase phase, uint64_t nanoseconds) = 0;
};

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_MODELS_INFERENCEOBSERVER_H
