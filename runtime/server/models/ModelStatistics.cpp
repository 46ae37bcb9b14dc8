// See ModelStatistics.h.

#include "runtime/server/models/ModelStatistics.h"

#include <chrono>

namespace reciperun::server {
namespace {

/// Null for a phase without a sum.
DurationCount* countOf(ModelStatistics& statistics, InferencePhase phase) {
  switch (phase) {
  case InferencePhase::firstResponse:
    return nullptr;
  case InferencePhase::request:
    return &statistics.success;
  case InferencePhase::queue:
    return &statistics.queue;
  case InferencePhase::computeInput:
    return &statistics.computeInput;
  case InferencePhase::computeInfer:
    return &statistics.computeInfer;
  case InferencePhase::computeOutput:
    return &statistics.computeOutput;
  case InferencePhase::cacheHit:
    return &statistics.cacheHit;
  case InferencePhase::cacheMiss:
    return &statistics.cacheMiss;
  }
  return nullptr;
}

} // namespace

void ModelStatistics::noteExecution(uint64_t elements) {
  inferenceCount += elements;
  ++executionCount;
  lastInference =
      uint64_t(std::chrono::duration_cast<std::chrono::milliseconds>(
                   std::chrono::system_clock::now().time_since_epoch())
                   .count());
}

void ModelStatistics::note(InferencePhase phase, uint64_t nanoseconds) {
  if (DurationCount* const count = countOf(*this, phase))
    count->add(nanoseconds);
  if (observer)
    observer->note(name, version, phase, nanoseconds);
}

} // namespace reciperun::server
