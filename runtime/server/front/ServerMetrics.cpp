// See ServerMetrics.h. The buckets are those of vLLM.

#include "runtime/server/front/ServerMetrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

namespace reciperun::server {
namespace {

using Buckets = prometheus::Histogram::BucketBoundaries;

const Buckets firstTokenBuckets = {
    0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1,  0.25,  0.5,   0.75,
    1.0,   2.5,   5.0,  7.5,  10.0, 20.0, 40.0, 80.0, 160.0, 640.0, 2560.0};
const Buckets intervalBuckets = {0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2,
                                 0.3,  0.4,   0.5,  0.75,  1.0, 2.5,  5.0,
                                 7.5,  10.0,  20.0, 40.0,  80.0};
const Buckets totalBuckets = {0.3,  0.5,   0.8,   1.0,   1.5,   2.0,    2.5,
                              5.0,  10.0,  15.0,  20.0,  30.0,  40.0,   50.0,
                              60.0, 120.0, 240.0, 480.0, 960.0, 1920.0, 7680.0};

/// 1, 2, 5, 10, 20, 50 ... up to a million.
Buckets tokenBuckets() {
  Buckets made;
  for (double power = 1; power < 1e6; power *= 10)
    for (double digit : {1.0, 2.0, 5.0})
      made.push_back(digit * power);
  made.push_back(1e6);
  return made;
}

} // namespace

struct ServerMetrics::Registry {
  explicit Registry(const std::string& model)
      : labels{{"model_name", model}, {"engine", "0"}} {}

  prometheus::Gauge& gauge(const char* name, const char* help) {
    return prometheus::BuildGauge().Name(name).Help(help).Register(all).Add(
        labels);
  }
  prometheus::Counter& counter(const char* name, const char* help) {
    return prometheus::BuildCounter().Name(name).Help(help).Register(all).Add(
        labels);
  }
  prometheus::Histogram& histogram(const char* name, const char* help,
                                   const Buckets& buckets) {
    return prometheus::BuildHistogram().Name(name).Help(help).Register(all).Add(
        labels, buckets);
  }

  /// Raises a counter to a count that only grows.
  static void raise(prometheus::Counter& counter, int64_t count) {
    counter.Increment(double(count) - counter.Value());
  }

  prometheus::Registry all;
  prometheus::Labels labels;
  prometheus::Gauge& running =
      gauge("vllm:num_requests_running", "Requests that steps compute.");
  prometheus::Gauge& waiting =
      gauge("vllm:num_requests_waiting", "Requests that wait for a slot.");
  prometheus::Gauge& cacheUsage =
      gauge("vllm:kv_cache_usage_perc",
            "Pages of the KV cache in use. 1 means all of them.");
  prometheus::Counter& prefixQueries =
      counter("vllm:prefix_cache_queries_total",
              "Prompt tokens that were looked up in the prefix cache.");
  prometheus::Counter& prefixHits =
      counter("vllm:prefix_cache_hits_total",
              "Prompt tokens that the prefix cache had.");
  prometheus::Counter& preemptions = counter(
      "vllm:num_preemptions_total", "Sequences that gave up their pages.");
  prometheus::Counter& promptTokens =
      counter("vllm:prompt_tokens_total", "Tokens of prompts.");
  prometheus::Counter& answerTokens =
      counter("vllm:generation_tokens_total", "Tokens of answers.");
  prometheus::Family<prometheus::Counter>& answers =
      prometheus::BuildCounter()
          .Name("vllm:request_success_total")
          .Help("Answers that have ended, by their reason.")
          .Register(all);
  prometheus::Histogram& firstToken =
      histogram("vllm:time_to_first_token_seconds",
                "Time to the first token in seconds.", firstTokenBuckets);
  prometheus::Histogram& interval = histogram(
      "vllm:inter_token_latency_seconds",
      "Time between two tokens of an answer in seconds.", intervalBuckets);
  prometheus::Histogram& total =
      histogram("vllm:e2e_request_latency_seconds",
                "Time from arrival to end in seconds.", totalBuckets);
  prometheus::Histogram& promptSizes = histogram(
      "vllm:request_prompt_tokens", "Tokens of a prompt.", tokenBuckets());
  prometheus::Histogram& answerSizes = histogram(
      "vllm:request_generation_tokens", "Tokens of an answer.", tokenBuckets());
};

ServerMetrics::ServerMetrics(const std::string& model)
    : registry(std::make_unique<Registry>(model)) {}

ServerMetrics::~ServerMetrics() = default;

void ServerMetrics::count(const AnswerMeasures& answer) {
  prometheus::Labels labels = registry->labels;
  labels["finished_reason"] = answer.reason;
  registry->answers.Add(labels).Increment();
  registry->promptTokens.Increment(double(answer.promptTokens));
  registry->answerTokens.Increment(double(answer.answerTokens));
  registry->promptSizes.Observe(double(answer.promptTokens));
  registry->answerSizes.Observe(double(answer.answerTokens));
  registry->total.Observe(answer.total);
  if (answer.answerTokens > 0)
    registry->firstToken.Observe(answer.firstToken);
}

void ServerMetrics::countInterval(double seconds) {
  registry->interval.Observe(seconds);
}

void ServerMetrics::take(const serve::EngineStatistics& statistics) {
  registry->running.Set(double(statistics.running));
  registry->waiting.Set(double(statistics.waiting));
  registry->cacheUsage.Set(statistics.pages > 0 ? double(statistics.heldPages) /
                                                      double(statistics.pages)
                                                : 0);
  const serve::SchedulerStatistics& counts = statistics.scheduler;
  Registry::raise(registry->prefixQueries,
                  counts.promptTokens + counts.reusedTokens);
  Registry::raise(registry->prefixHits, counts.reusedTokens);
  Registry::raise(registry->preemptions, counts.preemptions);
}

std::string ServerMetrics::text() const {
  return prometheus::TextSerializer().Serialize(registry->all.Collect());
}

} // namespace reciperun::server
