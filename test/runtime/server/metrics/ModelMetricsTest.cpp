// The metrics of models from given statistics: values, labels and what is only
// there on demand.

#include "MetricsText.h"
#include "runtime/server/config/model_config.pb.h"
#include "runtime/server/metrics/ServerMetrics.h"
#include "runtime/server/repository/ServedVersion.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace reciperun::server {
namespace {

ModelStatistics statisticsOf(const std::string& name) {
  ModelStatistics made;
  made.name = name;
  made.version = "3";
  made.inferenceCount = 40;
  made.executionCount = 10;
  made.success = {20, 9'999'999};
  made.fail = {7, 1};
  made.queue = {20, 2'000'000};
  made.computeInput = {20, 3'000'500};
  made.computeInfer = {20, 4'000'000};
  made.computeOutput = {20, 5'000'000};
  made.rejected = 1;
  made.cancelled = 2;
  made.failedInBackend = 3;
  made.failedOther = 1;
  made.pending = 6;
  made.loadSeconds = 1.5;
  return made;
}

struct Page {
  explicit Page(std::vector<std::string> settings = {}) {
    MetricsConfig config;
    for (const std::string& each : settings)
      EXPECT_TRUE(applySetting(each, config).isOk());
    metrics.emplace(config);
    metrics->setModels([this] { return models; });
  }
  MetricsText text() { return MetricsText(metrics->text()); }
  void note(InferencePhase phase, uint64_t nanoseconds) {
    metrics->observer().note("simple", "3", phase, nanoseconds);
  }

  std::vector<ModelStatistics> models = {statisticsOf("simple")};
  std::optional<ServerMetrics> metrics;
};

using Phase = InferencePhase;

const std::string modelLabels = R"({model="simple",version="3"})";

TEST(ModelMetrics, CountersAndGaugesHaveTheStatistics) {
  Page page;
  const MetricsText text = page.text();
  const std::vector<std::pair<std::string, double>> counters = {
      {"nv_inference_request_success", 20},
      {"nv_inference_count", 40},
      {"nv_inference_exec_count", 10},
      {"nv_inference_request_duration_us", 9999},
      {"nv_inference_queue_duration_us", 2000},
      {"nv_inference_compute_input_duration_us", 3000},
      {"nv_inference_compute_infer_duration_us", 4000},
      {"nv_inference_compute_output_duration_us", 5000}};
  for (const auto& [name, value] : counters) {
    EXPECT_EQ(text.value(name + modelLabels), value) << name;
    EXPECT_EQ(text.types.at(name), "counter") << name;
  }
  EXPECT_EQ(text.value("nv_inference_pending_request_count" + modelLabels), 6);
  EXPECT_EQ(text.types.at("nv_inference_pending_request_count"), "gauge");
  EXPECT_EQ(text.value("nv_model_load_duration_secs" + modelLabels), 1.5);
  EXPECT_EQ(text.types.at("nv_model_load_duration_secs"), "gauge");
}

TEST(ModelMetrics, FailuresHaveAReason) {
  Page page;
  const MetricsText text = page.text();
  auto failures = [&](const std::string& reason) {
    return text.value(
        R"(nv_inference_request_failure{model="simple",reason=")" + reason +
        R"(",version="3"})");
  };
  EXPECT_EQ(failures("REJECTED"), 1);
  EXPECT_EQ(failures("CANCELED"), 2);
  EXPECT_EQ(failures("BACKEND"), 3);
  EXPECT_EQ(failures("OTHER"), 1);
}

TEST(ModelMetrics, TheCacheIsThereWhereAModelUsesIt) {
  Page page;
  EXPECT_FALSE(page.text().types.contains("nv_cache_num_hits_per_model"));
  page.models[0].usesCache = true;
  page.models[0].cacheHit = {4, 8000};
  page.models[0].cacheMiss = {5, 10'000};
  const MetricsText text = page.text();
  EXPECT_EQ(text.value("nv_cache_num_hits_per_model" + modelLabels), 4);
  EXPECT_EQ(text.value("nv_cache_num_misses_per_model" + modelLabels), 5);
  EXPECT_EQ(text.value("nv_cache_hit_duration_per_model" + modelLabels), 8);
  EXPECT_EQ(text.value("nv_cache_miss_duration_per_model" + modelLabels), 10);
}

TEST(ModelMetrics, CountersOfLatenciesCanBeSwitchedOff) {
  Page page({"counter_latencies=false"});
  const MetricsText text = page.text();
  EXPECT_FALSE(text.types.contains("nv_inference_queue_duration_us"));
  EXPECT_EQ(text.value("nv_inference_request_success" + modelLabels), 20);
}

TEST(ModelMetrics, HistogramsAreThereOnDemand) {
  EXPECT_FALSE(
      Page().text().types.contains("nv_inference_first_response_histogram_ms"));
  Page page({"histogram_latencies=true"});
  for (uint64_t milliseconds : {20, 100, 101, 4000, 9000})
    page.note(Phase::firstResponse, milliseconds * 1'000'000);
  const MetricsText text = page.text();
  const std::string name = "nv_inference_first_response_histogram_ms";
  EXPECT_EQ(text.types.at(name), "histogram");
  EXPECT_EQ(text.value(name + "_count" + modelLabels), 5);
  EXPECT_EQ(text.value(name + "_sum" + modelLabels), 13'221);
  auto below = [&](const std::string& bound) {
    return text.value(name + R"(_bucket{model="simple",version="3",le=")" +
                      bound + R"("})");
  };
  EXPECT_EQ(below("100"), 2);
  EXPECT_EQ(below("500"), 3);
  EXPECT_EQ(below("2000"), 3);
  EXPECT_EQ(below("5000"), 4);
  EXPECT_EQ(below("+Inf"), 5);
}

TEST(ModelMetrics, SummariesAreThereOnDemand) {
  Page page({"summary_latencies=true", "summary_quantiles=0.5:0.05,0.9:0.01"});
  for (uint64_t i = 1; i <= 100; ++i) {
    page.note(Phase::request, i * 1000);
    page.note(Phase::queue, 5000);
    page.note(Phase::computeInput, 1000);
    page.note(Phase::computeInfer, 2000);
    page.note(Phase::computeOutput, 3000);
  }
  const MetricsText text = page.text();
  const std::string name = "nv_inference_request_summary_us";
  EXPECT_EQ(text.types.at(name), "summary");
  EXPECT_EQ(text.value(name + "_count" + modelLabels), 100);
  EXPECT_EQ(text.value(name + "_sum" + modelLabels), 5050);
  const std::string quantile = R"({model="simple",version="3",quantile=")";
  EXPECT_NEAR(text.value(name + quantile + "0.5\"}"), 50, 5);
  EXPECT_NEAR(text.value(name + quantile + "0.9\"}"), 90, 1);
  EXPECT_FALSE(text.values.contains(name + quantile + "0.99\"}"));
  EXPECT_EQ(text.value("nv_inference_queue_summary_us_sum" + modelLabels), 500);
  EXPECT_EQ(
      text.value("nv_inference_compute_input_summary_us_sum" + modelLabels),
      100);
  EXPECT_EQ(
      text.value("nv_inference_compute_infer_summary_us_sum" + modelLabels),
      200);
  EXPECT_EQ(
      text.value("nv_inference_compute_output_summary_us_sum" + modelLabels),
      300);
  EXPECT_FALSE(text.types.contains("nv_cache_hit_summary_per_model"));
}

TEST(ModelMetrics, SummariesOfAModelWithACacheHaveHitsAndMisses) {
  Page page({"summary_latencies=true"});
  page.models[0].usesCache = true;
  page.note(Phase::cacheHit, 4000);
  page.note(Phase::cacheMiss, 6000);
  page.note(Phase::computeInfer, 1000);
  const MetricsText text = page.text();
  EXPECT_EQ(text.value("nv_cache_hit_summary_per_model_sum" + modelLabels), 4);
  EXPECT_EQ(text.value("nv_cache_miss_summary_per_model_sum" + modelLabels), 6);
  EXPECT_EQ(
      text.value("nv_inference_compute_infer_summary_us_count" + modelLabels),
      1);
  EXPECT_FALSE(text.types.contains("nv_inference_request_summary_us"));
}

TEST(ModelMetrics, AnUnloadedModelIsForgotten) {
  Page page({"histogram_latencies=true"});
  page.models.push_back(statisticsOf("other"));
  page.note(Phase::firstResponse, 1);
  const std::string count =
      "nv_inference_first_response_histogram_ms_count" + modelLabels;
  EXPECT_EQ(page.text().value(count), 1);
  const auto models = std::exchange(page.models, {statisticsOf("other")});
  EXPECT_FALSE(page.text().values.contains(count));
  page.models = models;
  EXPECT_EQ(page.text().value(count), 0);
}

/// Answers each request at once.
struct Echo : Scheduler {
  void enqueue(std::shared_ptr<Inference> inference, int64_t) override {
    inference->respond({.status = Status::ok(), .isLast = false});
    inference->respond({.status = Status::ok()});
  }
};

TEST(ModelMetrics, AVersionReportsItsRequests) {
  Page page({"histogram_latencies=true", "summary_latencies=true"});
  auto config = std::make_shared<inference::ModelConfig>();
  config->set_name("simple");
  config->mutable_model_transaction_policy()->set_decoupled(true);
  auto& input = *config->add_input();
  input.set_name("IN");
  input.set_data_type(inference::TYPE_INT32);
  input.add_dims(1);
  const auto version = std::make_shared<ServedVersion>(
      config, 3,
      [](ModelStatistics& counts) {
        counts.note(Phase::queue, 7000);
        return std::make_unique<Echo>();
      },
      nullptr, &page.metrics->observer());
  InferRequest request;
  request.model = "simple";
  Tensor& tensor = request.inputs.emplace_back();
  tensor.name = "IN";
  tensor.type = DataType::int32;
  tensor.shape = {1};
  tensor.data.assign(4, '\0');
  int responses = 0;
  version->infer(std::move(request), [&](const InferResponse& response) {
    EXPECT_TRUE(response.status.isOk()) << response.status.message();
    ++responses;
  });
  EXPECT_EQ(responses, 2);
  page.models = {version->statistics()};
  const MetricsText text = page.text();
  EXPECT_EQ(text.value("nv_inference_request_success" + modelLabels), 1);
  EXPECT_EQ(text.value("nv_inference_request_summary_us_count" + modelLabels),
            1);
  EXPECT_EQ(text.value("nv_inference_first_response_histogram_ms_count" +
                       modelLabels),
            1);
  EXPECT_EQ(text.value("nv_inference_queue_duration_us" + modelLabels), 7);
  EXPECT_EQ(text.value("nv_inference_queue_summary_us_sum" + modelLabels), 7);
}

} // namespace
} // namespace reciperun::server
