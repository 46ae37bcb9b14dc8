// See TrtLlmMetrics.h.

#include "runtime/server/metrics/TrtLlmMetrics.h"

#include "runtime/server/metrics/EngineMetrics.h"

#include <prometheus/gauge.h>
#include <prometheus/registry.h>

#include <algorithm>
#include <ctime>

namespace reciperun::server {

struct TrtLlmMetrics::Gauges {
  Gauges(prometheus::Registry& registry, const EngineFacts& facts)
      : registry(registry), labels{{"model", facts.model}, {"version", "1"}},
        limits(facts.limits) {
    of("nv_trt_llm_runtime_memory_metrics", memoryHelp, "memory_type", "cpu")
        .Set(double(facts.cpuBytes));
    of("nv_trt_llm_runtime_memory_metrics", memoryHelp, "memory_type", "gpu")
        .Set(double(facts.gpuBytes));
    of("nv_trt_llm_runtime_memory_metrics", memoryHelp, "memory_type", "pinned")
        .Set(0);
    requests("max").Set(double(limits.maxBatch));
    blocks("max").Set(double(limits.pages));
    blocks("tokens_per").Set(double(limits.page));
  }

  prometheus::Gauge& of(const char* name, const char* help, const char* label,
                        const char* value) {
    prometheus::Labels all = labels;
    all.emplace(label, value);
    return prometheus::BuildGauge()
        .Name(name)
        .Help(help)
        .Register(registry)
        .Add(all);
  }
  prometheus::Gauge& requests(const char* type) {
    return of("nv_trt_llm_request_metrics",
              "Requests of the engine: waiting, in their prompt (context), in "
              "the last step (scheduled), in all (active), and the most that "
              "run at once (max).",
              "request_type", type);
  }
  prometheus::Gauge& blocks(const char* type) {
    return of("nv_trt_llm_kv_cache_block_metrics",
              "Pages of the KV cache, tokens in each, and the part in use.",
              "kv_cache_block_type", type);
  }
  prometheus::Gauge& batcher(const char* metric) {
    return of("nv_trt_llm_inflight_batcher_metrics",
              "The last step of the engine.",
              "inflight_batcher_specific_metric", metric);
  }
  prometheus::Gauge& general(const char* type) {
    return of("nv_trt_llm_general_metrics",
              "Steps since the start, and the time of the last one in seconds "
              "since 1970.",
              "general_type", type);
  }

  static constexpr const char* memoryHelp =
      "Memory that the plan reserves on rank 0, in bytes.";

  prometheus::Registry& registry;
  prometheus::Labels labels;
  plan::Serving limits;
  int64_t steps = 0; // at `timestamp`

  prometheus::Gauge& waiting = requests("waiting");
  prometheus::Gauge& context = requests("context");
  prometheus::Gauge& scheduled = requests("scheduled");
  prometheus::Gauge& active = requests("active");
  prometheus::Gauge& freeBlocks = blocks("free");
  prometheus::Gauge& usedBlocks = blocks("used");
  prometheus::Gauge& fraction = blocks("fraction");
  prometheus::Gauge& microBatch = batcher("micro_batch_id");
  prometheus::Gauge& generating = batcher("generation_requests");
  prometheus::Gauge& contextTokens = batcher("total_context_tokens");
  prometheus::Gauge& iterations = general("iteration_counter");
  prometheus::Gauge& timestamp = general("timestamp");
};

TrtLlmMetrics::TrtLlmMetrics(prometheus::Registry& registry,
                             const EngineFacts& facts)
    : gauges(std::make_unique<Gauges>(registry, facts)) {}

TrtLlmMetrics::~TrtLlmMetrics() = default;

void TrtLlmMetrics::take(const serve::EngineStatistics& statistics) {
  const bool isIdle = statistics.running == 0;
  const serve::StepCounts step =
      isIdle ? serve::StepCounts() : statistics.lastStep;
  gauges->waiting.Set(double(statistics.waiting));
  gauges->active.Set(double(statistics.waiting + statistics.running));
  gauges->context.Set(double(step.prefilling));
  gauges->scheduled.Set(double(step.prefilling + step.decoding));
  gauges->generating.Set(double(step.decoding));
  gauges->contextTokens.Set(double(step.prefillTokens));
  gauges->usedBlocks.Set(double(statistics.heldPages));
  gauges->freeBlocks.Set(double(statistics.pages - statistics.heldPages));
  gauges->fraction.Set(double(statistics.heldPages) /
                       double(std::max<int64_t>(1, statistics.pages)));
  gauges->microBatch.Set(0);
  gauges->iterations.Set(double(statistics.scheduler.steps));
  if (gauges->steps != statistics.scheduler.steps)
    gauges->timestamp.Set(double(std::time(nullptr)));
  gauges->steps = statistics.scheduler.steps;
}

} // namespace reciperun::server
