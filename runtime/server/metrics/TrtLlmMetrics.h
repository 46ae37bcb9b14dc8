// The gauges of an engine that Triton's TensorRT-LLM backend has.

#ifndef RECIPERUN_SERVER_METRICS_TRTLLMMETRICS_H
#define RECIPERUN_SERVER_METRICS_TRTLLMMETRICS_H

#include "runtime/serve/engine/Engine.h"

#include <memory>

namespace prometheus {
class Registry;
}

namespace reciperun::server {

struct EngineFacts;

/// `nv_trt_llm_*`, with the labels `model`, `version` and one for the kind.
/// There is no disaggregated serving, and so none of its counters.
class TrtLlmMetrics {
public:
  /// `registry` must outlive the object.
  TrtLlmMetrics(prometheus::Registry& registry, const EngineFacts& facts);
  TrtLlmMetrics(const TrtLlmMetrics&) = delete;
  TrtLlmMetrics& operator=(const TrtLlmMetrics&) = delete;
  ~TrtLlmMetrics();

  void take(const serve::EngineStatistics& statistics);

private:
  struct Gauges;
  std::unique_ptr<Gauges> gauges;
};

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_METRICS_TRTLLMMETRICS_H
