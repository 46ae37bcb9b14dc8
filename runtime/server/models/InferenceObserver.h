// Who wants to know of each request that a model answers, for histograms and
// summaries; ModelStatistics has only sums.

#ifndef RECIPERUN_SERVER_MODELS_INFERENCEOBSERVER_H
#define RECIPERUN_SERVER_MODELS_INFERENCEOBSERVER_H

#include <cstdint>
#include <optional>
#include <string>

namespace reciperun::server {

/// Of a request that succeeded, in nanoseconds, as in ModelStatistics. One that
/// the cache answered has no times of computation.
struct InferenceTimes {
  uint64_t request = 0; // from its arrival to its last response
  uint64_t queue = 0;
  std::optional<uint64_t> computeInput = {}, computeInfer = {},
                          computeOutput = {};
  std::optional<uint64_t> cacheHit = {}, cacheMiss = {};
};

class InferenceObserver {
public:
  virtual ~InferenceObserver() = default;

  /// A request has its first response, so many nanoseconds after its arrival.
  virtual void noteFirstResponse(const std::string& model,
                                 const std::string& version,
                                 uint64_t nanoseconds) = 0;
  /// A request has ended with success.
  virtual void noteSuccess(const std::string& model, const std::string& version,
                           const InferenceTimes& times) = 0;
};

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_MODELS_INFERENCEOBSERVER_H
