// See EngineMetrics.h. The buckets are those of vLLM.

#include "runtime/server/metrics/EngineMetrics.h"

#include "runtime/server/metrics/TrtLlmMetrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <utility>
#include <vector>

namespace reciperun::server {
namespace {

using Buckets = prometheus::Histogram::BucketBoundaries;
using prometheus::Labels;

const Buckets firstTokenBuckets = {
    0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1,  0.25,  0.5,   0.75,
    1.0,   2.5,   5.0,  7.5,  10.0, 20.0, 40.0, 80.0, 160.0, 640.0, 2560.0};
const Buckets intervalBuckets = {0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2,
                                 0.3,  0.4,   0.5,  0.75,  1.0, 2.5,  5.0,
                                 7.5,  10.0,  20.0, 40.0,  80.0};
const Buckets requestBuckets = {
    0.3,  0.5,  0.8,  1.0,  1.5,   2.0,   2.5,   5.0,   10.0,   15.0,  20.0,
    30.0, 40.0, 50.0, 60.0, 120.0, 240.0, 480.0, 960.0, 1920.0, 7680.0};
const Buckets numberBuckets = {1, 2, 5, 10, 20};
const Buckets preemptionBuckets = {1, 2, 3, 4, 5, 10, 20};
const Buckets stepBuckets(serve::StepTokens::bounds.begin(),
                          serve::StepTokens::bounds.end());

/// 1, 2, 5, 10, 20, 50 ... up to `most`.
Buckets tokenBuckets(int64_t most) {
  Buckets made;
  for (int64_t power = 1; power <= most; power *= 10)
    for (int64_t digit : {1, 2, 5})
      if (digit * power <= most)
        made.push_back(double(digit * power));
  return made;
}

const char* boolText(bool value) {
  return value ? "True" : "False";
}

/// As vLLM describes its cache.
Labels cacheLabels(const plan::Serving& limits) {
  return {{"engine", "0"},
          {"block_size", std::to_string(limits.page)},
          {"enable_prefix_caching", boolText(limits.prefixCache)},
          {"is_attention_free", boolText(limits.page == 0)},
          {"kv_cache_size_tokens", std::to_string(limits.page * limits.pages)},
          {"num_gpu_blocks", std::to_string(limits.pages)},
          {"num_gpu_blocks_override", "None"},
          {"sliding_window", "None"}};
}

} // namespace

EngineFacts factsOf(const std::string& model, const plan::Plan& plan) {
  const int64_t bytes = plan.stages.front().memory.total;
  const bool isCpu = plan.device == "cpu";
  return {.model = model,
          .limits = *plan.serving,
          .cpuBytes = isCpu ? bytes : 0,
          .gpuBytes = isCpu ? 0 : bytes};
}

AnswerEnd endOf(serve::FinishReason reason) {
  switch (reason) {
  case serve::FinishReason::endToken:
  case serve::FinishReason::stopString:
  case serve::FinishReason::stopToken:
    return AnswerEnd::stop;
  case serve::FinishReason::tokenLimit:
  case serve::FinishReason::cacheFull:
    return AnswerEnd::length;
  case serve::FinishReason::timeout:
  case serve::FinishReason::cancelled:
    return AnswerEnd::abort;
  case serve::FinishReason::failed:
    return AnswerEnd::error;
  }
  return AnswerEnd::error;
}

const char* nameOf(AnswerEnd end) {
  switch (end) {
  case AnswerEnd::stop:
    return "stop";
  case AnswerEnd::length:
    return "length";
  case AnswerEnd::abort:
    return "abort";
  case AnswerEnd::error:
    return "error";
  }
  return "";
}

struct EngineMetrics::Series {
  Series(prometheus::Registry& registry, const EngineFacts& facts)
      : all(registry), labels{{"model_name", facts.model}, {"engine", "0"}},
        tokens(tokenBuckets(facts.limits.maxTokens)), trtLlm(registry, facts) {
    prometheus::BuildGauge()
        .Name("vllm:cache_config_info")
        .Help("The KV cache, described by labels. Always 1.")
        .Register(all)
        .Add(cacheLabels(facts.limits))
        .Set(1);
  }

  Labels labelsWith(const char* name, const char* value) const {
    Labels made = labels;
    made.emplace(name, value);
    return made;
  }
  prometheus::Gauge& gauge(const char* name, const char* help,
                           const Labels& with) {
    return prometheus::BuildGauge().Name(name).Help(help).Register(all).Add(
        with);
  }
  prometheus::Gauge& gauge(const char* name, const char* help) {
    return gauge(name, help, labels);
  }
  prometheus::Counter& counter(const char* name, const char* help,
                               const Labels& with) {
    return prometheus::BuildCounter().Name(name).Help(help).Register(all).Add(
        with);
  }
  prometheus::Counter& counter(const char* name, const char* help) {
    return counter(name, help, labels);
  }
  prometheus::Histogram& histogram(const char* name, const char* help,
                                   const Buckets& buckets) {
    return prometheus::BuildHistogram().Name(name).Help(help).Register(all).Add(
        labels, buckets);
  }
  prometheus::Gauge& waitingFor(const char* reason) {
    return gauge("vllm:num_requests_waiting_by_reason",
                 "Requests that wait for a slot or for pages of the cache "
                 "(capacity), or for a place of their adapter (deferred).",
                 labelsWith("reason", reason));
  }
  prometheus::Counter& answersOf(AnswerEnd end) {
    return counter("vllm:request_success_total",
                   "Answers that have ended, by their reason.",
                   labelsWith("finished_reason", nameOf(end)));
  }

  /// Raises a counter to a count that only grows.
  static void raise(prometheus::Counter& counter, int64_t count) {
    counter.Increment(double(count) - counter.Value());
  }
  void takeSteps(const serve::StepTokens& all);

  prometheus::Registry& all;
  Labels labels;
  Buckets tokens;
  TrtLlmMetrics trtLlm;
  serve::StepTokens taken; // by `stepTokens`

  prometheus::Gauge& running =
      gauge("vllm:num_requests_running", "Requests that steps compute.");
  prometheus::Gauge& waiting =
      gauge("vllm:num_requests_waiting", "Requests that wait for their start.");
  prometheus::Gauge& waitingForCapacity = waitingFor("capacity");
  prometheus::Gauge& waitingForAdapter = waitingFor("deferred");
  prometheus::Gauge& cacheUsage =
      gauge("vllm:kv_cache_usage_perc",
            "Pages of the KV cache in use. 1 means all of them.");
  prometheus::Counter& prefixQueries =
      counter("vllm:prefix_cache_queries_total",
              "Prompt tokens that were looked up in the prefix cache.");
  prometheus::Counter& prefixHits =
      counter("vllm:prefix_cache_hits_total",
              "Prompt tokens that the prefix cache had.");
  prometheus::Counter& hostHits =
      counter("vllm:external_prefix_cache_hits_total",
              "Tokens whose pages were copied back from the host.");
  prometheus::Counter& preemptions = counter(
      "vllm:num_preemptions_total", "Sequences that gave up their pages.");
  prometheus::Counter& promptTokens =
      counter("vllm:prompt_tokens_total",
              "Tokens of prompts whose answer has its first token.");
  prometheus::Counter& answerTokens =
      counter("vllm:generation_tokens_total", "Tokens of answers.");
  std::array<prometheus::Counter*, 4> answers = {
      &answersOf(AnswerEnd::stop), &answersOf(AnswerEnd::length),
      &answersOf(AnswerEnd::abort), &answersOf(AnswerEnd::error)};
  prometheus::Counter& drafted = counter(
      "vllm:spec_decode_num_draft_tokens_total", "Tokens that drafts guessed.");
  prometheus::Counter& accepted =
      counter("vllm:spec_decode_num_accepted_tokens_total",
              "Tokens of drafts that the model confirmed.");

  prometheus::Histogram& firstToken = histogram(
      "vllm:time_to_first_token_seconds",
      "Time from arrival to the first token in seconds.", firstTokenBuckets);
  prometheus::Histogram& interval = histogram(
      "vllm:inter_token_latency_seconds",
      "Time between two tokens of an answer in seconds.", intervalBuckets);
  prometheus::Histogram& perToken = histogram(
      "vllm:request_time_per_output_token_seconds",
      "Mean time between the tokens of an answer in seconds.", intervalBuckets);
  prometheus::Histogram& total =
      histogram("vllm:e2e_request_latency_seconds",
                "Time from arrival to end in seconds.", requestBuckets);
  prometheus::Histogram& queue =
      histogram("vllm:request_queue_time_seconds",
                "Time that a request waited for its first step in seconds.",
                requestBuckets);
  prometheus::Histogram& inference = histogram(
      "vllm:request_inference_time_seconds",
      "Time from the first step to the last token in seconds.", requestBuckets);
  prometheus::Histogram& prefill =
      histogram("vllm:request_prefill_time_seconds",
                "Time from the first step to the first token in seconds.",
                requestBuckets);
  prometheus::Histogram& decode = histogram(
      "vllm:request_decode_time_seconds",
      "Time from the first to the last token in seconds.", requestBuckets);
  prometheus::Histogram& promptSizes =
      histogram("vllm:request_prompt_tokens", "Tokens of a prompt.", tokens);
  prometheus::Histogram& computedSizes = histogram(
      "vllm:request_prefill_kv_computed_tokens",
      "Tokens of a prompt that the prefix cache did not have.", tokens);
  prometheus::Histogram& answerSizes = histogram(
      "vllm:request_generation_tokens", "Tokens of an answer.", tokens);
  prometheus::Histogram& longestSizes =
      histogram("vllm:request_max_num_generation_tokens",
                "Tokens of the longest answer to a request.", tokens);
  prometheus::Histogram& maxTokens =
      histogram("vllm:request_params_max_tokens",
                "Tokens of an answer that the request allowed.", tokens);
  prometheus::Histogram& numbers =
      histogram("vllm:request_params_n", "Answers that a request asked for.",
                numberBuckets);
  prometheus::Histogram& preemptionsOfRequests =
      histogram("vllm:request_num_preemptions",
                "How often a request gave up its pages.", preemptionBuckets);
  prometheus::Histogram& stepTokens =
      histogram("vllm:iteration_tokens_total",
                "Tokens of a step: of prompts that it completes and of "
                "answers.",
                stepBuckets);
};

void EngineMetrics::Series::takeSteps(const serve::StepTokens& all) {
  std::vector<double> steps;
  for (size_t i = 0; i < all.steps.size(); ++i)
    steps.push_back(double(all.steps[i] - taken.steps[i]));
  stepTokens.ObserveMultiple(steps, double(all.tokens - taken.tokens));
  taken = all;
}

EngineMetrics::EngineMetrics(prometheus::Registry& registry, EngineFacts facts)
    : fixed(std::move(facts)),
      series(std::make_unique<Series>(registry, fixed)) {}

EngineMetrics::~EngineMetrics() = default;

void EngineMetrics::countFirstToken(double seconds, int64_t promptTokens,
                                    Time now) {
  series->firstToken.Observe(seconds);
  series->promptTokens.Increment(double(promptTokens));
  current.promptTokens += promptTokens;
  firstTokens.add(seconds, now);
}

void EngineMetrics::countTokens(int64_t tokens) {
  series->answerTokens.Increment(double(tokens));
  current.answerTokens += tokens;
}

void EngineMetrics::countIntervals(double seconds, int64_t tokens, Time now) {
  const double each = seconds / double(tokens);
  for (int64_t i = 0; i < tokens; ++i) {
    series->interval.Observe(each);
    intervals.add(each, now);
  }
}

void EngineMetrics::countAnswer(const AnswerMeasures& answer) {
  series->answers[size_t(answer.end)]->Increment();
  ++current.answers[size_t(answer.end)];
  series->total.Observe(answer.total);
  series->queue.Observe(answer.queue);
  if (answer.inference)
    series->inference.Observe(*answer.inference);
  if (answer.prefill)
    series->prefill.Observe(*answer.prefill);
  if (answer.decode) {
    series->decode.Observe(*answer.decode);
    series->perToken.Observe(answer.answerTokens > 1
                                 ? *answer.decode /
                                       double(answer.answerTokens - 1)
                                 : 0);
  }
  series->promptSizes.Observe(double(answer.promptTokens));
  series->computedSizes.Observe(
      double(answer.promptTokens - answer.cachedTokens));
  series->answerSizes.Observe(double(answer.answerTokens));
  series->maxTokens.Observe(double(answer.maxTokens));
  series->preemptionsOfRequests.Observe(double(answer.preemptions));
}

void EngineMetrics::countRequest(int64_t n, int64_t longest) {
  series->numbers.Observe(double(n));
  series->longestSizes.Observe(double(longest));
}

void EngineMetrics::take(const serve::EngineStatistics& statistics) {
  const auto& counts = statistics.scheduler;
  series->running.Set(double(statistics.running));
  series->waiting.Set(double(statistics.waiting));
  series->waitingForCapacity.Set(
      double(statistics.waiting - statistics.waitingForAdapter));
  series->waitingForAdapter.Set(double(statistics.waitingForAdapter));
  series->cacheUsage.Set(statistics.pages > 0 ? double(statistics.heldPages) /
                                                    double(statistics.pages)
                                              : 0);
  Series::raise(series->prefixQueries, counts.lookedUpTokens);
  Series::raise(series->prefixHits, counts.foundTokens);
  Series::raise(series->hostHits, counts.restoredTokens);
  Series::raise(series->preemptions, counts.preemptions);
  Series::raise(series->drafted, counts.draftedTokens);
  Series::raise(series->accepted, counts.acceptedTokens);
  series->takeSteps(statistics.stepTokens);
  series->trtLlm.take(statistics);
  current.statistics = statistics;
}

EngineStatus EngineMetrics::status(Time now) const {
  EngineStatus made = current;
  made.firstToken = firstTokens.quantiles(now);
  made.interval = intervals.quantiles(now);
  return made;
}

} // namespace reciperun::server
