// The metrics of an engine on a fake model: names, types and labels are vLLM's
// and Triton's, and counts are exact.

#include "MetricsText.h"
#include "runtime/server/front/EngineClient.h"
#include "runtime/server/metrics/ServerMetrics.h"
#include "test/runtime/serve/engine/FakeModel.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace reciperun::server {
namespace {

using serve::FakeModel;
using serve::FinishReason;

const std::string labels = R"(engine="0",model_name="m")";

/// An engine, its client and their metrics, all on one thread.
struct Served {
  explicit Served(plan::Serving given = serve::smallLimits(),
                  std::set<int32_t> ends = {},
                  std::unique_ptr<serve::DraftSource> drafts = nullptr)
      : limits(std::move(given)),
        engine(std::make_unique<FakeModel>(limits), limits, std::move(ends),
               std::move(drafts)) {
    client.setMetrics(metrics.addEngine(
        {.model = "m", .limits = limits, .cpuBytes = 4096}, [this] {
          client.takeReport();
          return client.statistics();
        }));
  }

  Ticket submit(std::vector<int32_t> prompt, int64_t tokens,
                RequestOrigin origin = {}, const std::string& adapter = {}) {
    serve::Request request{.prompt = std::move(prompt), .adapter = adapter};
    request.sampling.temperature = 0;
    request.sampling.maxTokens = tokens;
    return client.submit(
        std::move(request),
        [this](const EngineUpdate& update) {
          answered += int64_t(update.progress.tokens.size());
        },
        std::move(origin));
  }
  /// Runs until `isOver`, which is asked after each step.
  void runUntil(const std::function<bool()>& isOver) {
    const Status status = queue.run(engine, [&] {
      client.takeReport();
      return isOver();
    });
    EXPECT_TRUE(status.isOk()) << status.message();
  }
  void runAll() {
    runUntil([this] { return client.openRequests() == 0; });
  }
  MetricsText text() { return MetricsText(metrics.text()); }

  plan::Serving limits;
  serve::Engine engine;
  EngineQueue queue;
  ServerMetrics metrics;
  EngineClient client{queue};
  int64_t answered = 0; // tokens
};

void expectValue(const MetricsText& text, const std::string& name,
                 double value) {
  EXPECT_EQ(text.value(name + "{" + labels + "}"), value) << name;
}

void expectValues(const MetricsText& text,
                  const std::vector<std::pair<std::string, double>>& all) {
  for (const auto& [name, value] : all)
    expectValue(text, "vllm:" + name, value);
}

std::string answersWith(const std::string& reason) {
  return R"(vllm:request_success_total{engine="0",finished_reason=")" + reason +
         R"(",model_name="m"})";
}

/// The counts that vLLM's own test of its metrics expects.
TEST(EngineMetrics, CountsOfRequestsInTurnAreExact) {
  Served served;
  const int64_t n = 10, prompt = 5, most = 7;
  for (int64_t i = 0; i < n; ++i) {
    served.submit({1, 2, 3, 4, int32_t(i)}, most);
    served.runAll();
  }
  expectValues(served.text(),
               {{"time_to_first_token_seconds_count", n},
                {"inter_token_latency_seconds_count", n * (most - 1)},
                {"e2e_request_latency_seconds_count", n},
                {"request_queue_time_seconds_count", n},
                {"request_inference_time_seconds_count", n},
                {"request_prefill_time_seconds_count", n},
                {"request_decode_time_seconds_count", n},
                {"request_time_per_output_token_seconds_count", n},
                {"request_prompt_tokens_sum", n * prompt},
                {"request_prompt_tokens_count", n},
                {"request_generation_tokens_sum", n * most},
                {"request_generation_tokens_count", n},
                {"request_params_n_sum", n},
                {"request_params_n_count", n},
                {"request_params_max_tokens_sum", n * most},
                {"request_params_max_tokens_count", n},
                {"request_max_num_generation_tokens_sum", n * most},
                {"request_num_preemptions_count", n},
                {"request_num_preemptions_sum", 0},
                {"iteration_tokens_total_sum", n * (prompt + most)},
                {"iteration_tokens_total_count", n * most},
                {"prompt_tokens_total", n * prompt},
                {"generation_tokens_total", n * most},
                {"num_requests_running", 0},
                {"num_requests_waiting", 0},
                {"kv_cache_usage_perc", 0}});
  EXPECT_EQ(served.text().value(answersWith("length")), n);
  EXPECT_EQ(served.text().value(answersWith("stop")), 0);
}

TEST(EngineMetrics, CountsOfRequestsAtOnceAreExact) {
  Served served;
  const int64_t n = 40, prompt = 21, most = 9; // more than a step's 16 tokens
  for (int32_t i = 0; i < n; ++i)
    served.submit(std::vector<int32_t>(prompt, i), most);
  served.runAll();
  EXPECT_EQ(served.answered, n * most);
  expectValues(served.text(),
               {{"time_to_first_token_seconds_count", n},
                {"inter_token_latency_seconds_count", n * (most - 1)},
                {"iteration_tokens_total_sum", n * (prompt + most)},
                {"prompt_tokens_total", n * prompt},
                {"generation_tokens_total", n * most}});
}

/// Guesses what the fake model generates.
struct RightDrafts : serve::DraftSource {
  void propose(std::span<serve::DraftWish> wishes) override {
    for (serve::DraftWish& wish : wishes)
      wish.tokens = FakeModel::answer(wish.sequence->tokens, wish.most);
  }
};

TEST(EngineMetrics, CountsADraftsTokensOneByOne) {
  plan::Serving limits = serve::smallLimits();
  limits.draftTokens = 3;
  limits.buckets = serve::bucketsOf(limits);
  Served served(limits, {}, std::make_unique<RightDrafts>());
  for (int32_t i = 0; i < 5; ++i)
    served.submit({1, 2, 3, 4, 5, 6, i}, 40);
  served.runAll();
  const MetricsText text = served.text();
  const double accepted =
      text.value("vllm:spec_decode_num_accepted_tokens_total{" + labels + "}");
  EXPECT_GT(accepted, 0);
  expectValue(text, "vllm:spec_decode_num_draft_tokens_total", accepted);
  expectValues(text, {{"generation_tokens_total", 5 * 40},
                      {"inter_token_latency_seconds_count", 5 * 39},
                      {"iteration_tokens_total_sum", 5 * (7 + 40)}});
}

TEST(EngineMetrics, GaugesReturnToZeroAfterAborts) {
  Served served;
  std::vector<Ticket> tickets;
  for (int32_t i = 0; i < 12; ++i)
    tickets.push_back(served.submit({i, 2}, 50));
  served.runUntil([&] { return served.answered > 20; });
  MetricsText text = served.text();
  expectValues(text,
               {{"num_requests_running", 8}, {"num_requests_waiting", 4}});
  EXPECT_GT(text.value("vllm:kv_cache_usage_perc{" + labels + "}"), 0);
  for (Ticket each : tickets)
    served.client.cancel(each, FinishReason::cancelled);
  served.runAll();
  text = served.text();
  expectValues(text, {{"num_requests_running", 0},
                      {"num_requests_waiting", 0},
                      {"kv_cache_usage_perc", 0},
                      {"e2e_request_latency_seconds_count", 12},
                      {"request_queue_time_seconds_count", 12},
                      {"request_inference_time_seconds_count", 8}});
  EXPECT_EQ(text.value(answersWith("abort")), 12);
}

TEST(EngineMetrics, AStopStringEndsAnAnswerAtOnce) {
  Served served;
  const Ticket ticket = served.submit({1, 2}, 50);
  served.runUntil([&] { return served.answered >= 3; });
  served.client.cancel(ticket, FinishReason::stopString);
  EXPECT_EQ(served.text().value(answersWith("stop")), 1);
  const int64_t tokens = served.answered;
  served.runAll();
  const MetricsText text = served.text();
  EXPECT_EQ(text.value(answersWith("stop")), 1);
  EXPECT_EQ(text.value(answersWith("abort")), 0);
  expectValues(text, {{"generation_tokens_total", double(tokens)},
                      {"request_generation_tokens_sum", double(tokens)}});
}

TEST(EngineMetrics, AnEndTokenIsNoneOfTheAnswer) {
  const std::vector<int32_t> prompt = {1, 2, 3},
                             answer = FakeModel::answer(prompt, 1);
  Served served(serve::smallLimits(), {answer[0]});
  served.submit(prompt, 10);
  served.runAll();
  const MetricsText text = served.text();
  EXPECT_EQ(text.value(answersWith("stop")), 1);
  expectValues(text, {{"time_to_first_token_seconds_count", 1},
                      {"prompt_tokens_total", 3},
                      {"generation_tokens_total", 0},
                      {"request_prefill_time_seconds_count", 1},
                      {"iteration_tokens_total_sum", 3}});
}

TEST(EngineMetrics, ARefusedRequestIsNoAnswer) {
  Served served;
  served.submit({}, 10);
  served.runAll();
  expectValues(served.text(), {{"e2e_request_latency_seconds_count", 0},
                               {"request_params_n_count", 0}});
}

TEST(EngineMetrics, AFailedRequestIsAnError) {
  plan::Serving limits = serve::smallLimits();
  Served served(limits);
  auto poisoned = std::make_unique<FakeModel>(limits);
  poisoned->poison = 7;
  serve::Engine engine(std::move(poisoned), limits, {});
  served.submit({7}, 3);
  EXPECT_TRUE(served.queue
                  .run(engine,
                       [&] {
                         served.client.takeReport();
                         return served.client.openRequests() == 0;
                       })
                  .isOk());
  EXPECT_EQ(served.text().value(answersWith("error")), 1);
}

TEST(EngineMetrics, AnswersToOnePromptAreOneRequest) {
  Served served;
  const auto group = std::make_shared<AnswerGroup>(3, 3);
  for (int64_t tokens : {4, 9, 2})
    served.submit({1, 2, int32_t(tokens)}, tokens, {.group = group});
  served.runAll();
  expectValues(served.text(), {{"request_params_n_count", 1},
                               {"request_params_n_sum", 3},
                               {"request_max_num_generation_tokens_sum", 9},
                               {"request_generation_tokens_count", 3}});
}

TEST(EngineMetrics, PreemptionsAreCountedByRequest) {
  plan::Serving limits = serve::smallLimits();
  limits.policy = plan::ServingPolicy::maxUtilization;
  limits.prefixCache = false;
  limits.maxInput = limits.maxOutput = limits.maxTokens = 24;
  limits.pages = 8;
  Served served(limits);
  for (int32_t i = 0; i < 3; ++i)
    served.submit({1, 2, 3, 4, 5, 6, 7, i}, 12);
  served.runAll();
  const MetricsText text = served.text();
  const double all = text.value("vllm:num_preemptions_total{" + labels + "}");
  EXPECT_GT(all, 0);
  expectValues(text, {{"request_num_preemptions_sum", all},
                      {"request_num_preemptions_count", 3},
                      {"iteration_tokens_total_sum", 3 * (8 + 12)}});
}

TEST(EngineMetrics, WaitingRequestsHaveAReason) {
  Served served(serve::limitsOfAdapters(1));
  ASSERT_TRUE(served.engine.addAdapter("a", "a").isOk());
  ASSERT_TRUE(served.engine.addAdapter("b", "b").isOk());
  served.submit({1, 2}, 20, {}, "a");
  for (int i = 0; i < 3; ++i)
    served.submit({1, 2}, 20, {}, "b");
  for (int i = 0; i < 9; ++i)
    served.submit({1, 2}, 20);
  served.runUntil([&] { return served.answered > 0; });
  const MetricsText text = served.text();
  const auto waiting = [&](const std::string& reason) {
    return text.value(R"(vllm:num_requests_waiting_by_reason{engine="0",)"
                      R"(model_name="m",reason=")" +
                      reason + R"("})");
  };
  expectValues(text,
               {{"num_requests_running", 8}, {"num_requests_waiting", 5}});
  EXPECT_EQ(waiting("deferred"), 3);
  EXPECT_EQ(waiting("capacity"), 2);
}

TEST(EngineMetrics, ThePrefixCacheCountsTokensOfPrompts) {
  Served served;
  const std::vector<int32_t> prompt = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10};
  for (int i = 0; i < 3; ++i) {
    served.submit(prompt, 2);
    served.runAll();
  }
  expectValues(served.text(), {{"prefix_cache_queries_total", 30},
                               {"prefix_cache_hits_total", 2 * 8},
                               {"request_prefill_kv_computed_tokens_sum", 14}});
}

TEST(EngineMetrics, TheCacheIsDescribedByLabels) {
  Served served;
  EXPECT_EQ(
      served.text().value(
          R"(vllm:cache_config_info{block_size="4",enable_prefix_caching="True",)"
          R"(engine="0",is_attention_free="False",kv_cache_size_tokens="512",)"
          R"(num_gpu_blocks="128",num_gpu_blocks_override="None",)"
          R"(sliding_window="None"})"),
      1);
}

TEST(EngineMetrics, BucketsAreThoseOfVllm) {
  Served served;
  const MetricsText text = served.text();
  auto bounds = [&](const std::string& name) {
    std::vector<double> all;
    const std::string start = "vllm:" + name + "_bucket{" + labels + ",le=\"";
    for (const auto& [series, value] : text.values)
      if (series.starts_with(start) && !series.ends_with("+Inf\"}"))
        all.push_back(std::atof(&series[start.size()]));
    std::ranges::sort(all);
    return all;
  };
  using Bounds = std::vector<double>;
  EXPECT_EQ(bounds("request_prompt_tokens"), (Bounds{1, 2, 5, 10, 20, 50}));
  EXPECT_EQ(bounds("request_params_max_tokens"), (Bounds{1, 2, 5, 10, 20, 50}));
  EXPECT_EQ(bounds("request_params_n"), (Bounds{1, 2, 5, 10, 20}));
  EXPECT_EQ(bounds("request_num_preemptions"), (Bounds{1, 2, 3, 4, 5, 10, 20}));
  EXPECT_EQ(
      bounds("iteration_tokens_total"),
      (Bounds{1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384}));
  EXPECT_EQ(bounds("inter_token_latency_seconds"),
            (Bounds{0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5,
                    0.75, 1, 2.5, 5, 7.5, 10, 20, 40, 80}));
  EXPECT_EQ(bounds("time_to_first_token_seconds"),
            (Bounds{0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1,
                    0.25,  0.5,   0.75, 1,    2.5,  5,    7.5,  10,
                    20,    40,    80,   160,  640,  2560}));
  const Bounds request = {0.3, 0.5, 0.8, 1,  1.5, 2,   2.5, 5,   10,   15,  20,
                          30,  40,  50,  60, 120, 240, 480, 960, 1920, 7680};
  for (const char* name :
       {"e2e_request_latency", "request_queue_time", "request_inference_time",
        "request_prefill_time", "request_decode_time"})
    EXPECT_EQ(bounds(std::string(name) + "_seconds"), request) << name;
}

TEST(EngineMetrics, NamesAndTypesAreThoseOfVllmAndTriton) {
  Served served;
  const auto types = served.text().types;
  const std::vector<std::pair<const char*, std::vector<const char*>>> all = {
      {"gauge",
       {"vllm:num_requests_running", "vllm:num_requests_waiting",
        "vllm:num_requests_waiting_by_reason", "vllm:kv_cache_usage_perc",
        "vllm:cache_config_info", "nv_trt_llm_request_metrics",
        "nv_trt_llm_runtime_memory_metrics",
        "nv_trt_llm_kv_cache_block_metrics",
        "nv_trt_llm_inflight_batcher_metrics", "nv_trt_llm_general_metrics"}},
      {"counter",
       {"vllm:prefix_cache_queries_total", "vllm:prefix_cache_hits_total",
        "vllm:num_preemptions_total", "vllm:prompt_tokens_total",
        "vllm:generation_tokens_total", "vllm:request_success_total",
        "vllm:spec_decode_num_draft_tokens_total",
        "vllm:spec_decode_num_accepted_tokens_total"}},
      {"histogram",
       {"vllm:time_to_first_token_seconds", "vllm:inter_token_latency_seconds",
        "vllm:request_time_per_output_token_seconds",
        "vllm:e2e_request_latency_seconds", "vllm:request_queue_time_seconds",
        "vllm:request_inference_time_seconds",
        "vllm:request_prefill_time_seconds", "vllm:request_decode_time_seconds",
        "vllm:request_prompt_tokens", "vllm:request_generation_tokens",
        "vllm:request_max_num_generation_tokens", "vllm:request_params_n",
        "vllm:request_params_max_tokens", "vllm:request_num_preemptions",
        "vllm:request_prefill_kv_computed_tokens",
        "vllm:iteration_tokens_total"}}};
  for (const auto& [type, names] : all)
    for (const char* name : names) {
      ASSERT_TRUE(types.contains(name)) << name;
      EXPECT_EQ(types.at(name), type) << name;
    }
}

TEST(EngineMetrics, GaugesOfTrtLlmDescribeTheEngine) {
  Served served;
  for (int32_t i = 0; i < 12; ++i)
    served.submit({i, 2}, 50);
  served.runUntil([&] { return served.answered > 20; });
  const MetricsText text = served.text();
  auto value = [&](const std::string& name, const std::string& label,
                   const std::string& kind) {
    const std::string mine = label + "=\"" + kind + "\"";
    const std::string model = R"(model="m")", version = R"(version="1")";
    std::vector<std::string> sorted = {mine, model, version};
    std::ranges::sort(sorted);
    return text.value("nv_trt_llm_" + name + "_metrics{" + sorted[0] + "," +
                      sorted[1] + "," + sorted[2] + "}");
  };
  EXPECT_EQ(value("request", "request_type", "waiting"), 4);
  EXPECT_EQ(value("request", "request_type", "active"), 12);
  EXPECT_EQ(value("request", "request_type", "max"), 8);
  EXPECT_EQ(value("request", "request_type", "scheduled"), 8);
  EXPECT_EQ(value("request", "request_type", "context"), 0);
  EXPECT_EQ(value("inflight_batcher", "inflight_batcher_specific_metric",
                  "generation_requests"),
            8);
  const double used = value("kv_cache_block", "kv_cache_block_type", "used");
  EXPECT_GT(used, 0);
  EXPECT_EQ(value("kv_cache_block", "kv_cache_block_type", "free"), 128 - used);
  EXPECT_EQ(value("kv_cache_block", "kv_cache_block_type", "max"), 128);
  EXPECT_EQ(value("kv_cache_block", "kv_cache_block_type", "tokens_per"), 4);
  EXPECT_EQ(value("kv_cache_block", "kv_cache_block_type", "fraction"),
            used / 128);
  EXPECT_EQ(value("runtime_memory", "memory_type", "cpu"), 4096);
  EXPECT_EQ(value("general", "general_type", "iteration_counter"),
            double(served.engine.statistics().scheduler.steps));
}

TEST(EngineMetrics, EnginesShareFamilies) {
  Served served;
  served.metrics.addEngine({.model = "n\"\\", .limits = served.limits}, [] {
    serve::EngineStatistics now;
    now.running = 3;
    return now;
  });
  const MetricsText text = served.text(); // has each name once
  expectValue(text, "vllm:num_requests_running", 0);
  EXPECT_EQ(text.value("vllm:num_requests_running{engine=\"0\",model_name=\""
                       "n\\\"\\\\\"}"),
            3);
}

TEST(EngineMetrics, APageSeesTheLastTimes) {
  Served served;
  for (int32_t i = 0; i < 4; ++i)
    served.submit({i, 2}, 5);
  served.runAll();
  const auto views = served.metrics.engines();
  ASSERT_EQ(views.size(), 1u);
  const EngineStatus& status = views[0].status;
  EXPECT_EQ(status.firstToken.count, 4);
  EXPECT_EQ(status.interval.count, 4 * 4);
  EXPECT_GT(status.firstToken.p50, 0);
  EXPECT_LE(status.firstToken.p50, status.firstToken.p95);
  EXPECT_EQ(status.promptTokens, 8);
  EXPECT_EQ(status.answerTokens, 20);
  EXPECT_EQ(status.answers[size_t(AnswerEnd::length)], 4);
}

} // namespace
} // namespace reciperun::server
