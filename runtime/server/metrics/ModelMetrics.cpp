// See ModelMetrics.h.

#include "runtime/server/metrics/ModelMetrics.h"

#include <prometheus/histogram.h>
#include <prometheus/summary.h>

#include <algorithm>
#include <array>

namespace reciperun::server {
namespace {

using prometheus::Labels;
using prometheus::MetricType;
using prometheus::Summary;

constexpr double nanosecondsOfMillisecond = 1e6;

const prometheus::Histogram::BucketBoundaries firstResponseBuckets = {
    100, 500, 2000, 5000};

/// As Triton counts them.
double microseconds(uint64_t nanoseconds) {
  return double(nanoseconds / 1000);
}

Labels labelsOf(const ModelStatistics& model) {
  return {{"model", model.name}, {"version", model.version}};
}

bool usesCache(const ModelStatistics& model) {
  return model.usesCache || model.cacheHit.count + model.cacheMiss.count > 0;
}

Summary::Quantiles quantilesOf(const MetricsConfig& config) {
  Summary::Quantiles made;
  for (const SummaryQuantile& each : config.quantiles)
    made.emplace_back(each.quantile, each.error);
  return made;
}

void addFailures(const ModelStatistics& model,
                 metrics::MetricFamilies& families) {
  auto add = [&](const char* reason, uint64_t count) {
    Labels labels = labelsOf(model);
    labels.emplace("reason", reason);
    families.addCounter("nv_inference_request_failure",
                        "Requests that failed, by the reason.", labels,
                        double(count));
  };
  add("REJECTED", model.rejected);
  add("CANCELED", model.cancelled);
  add("BACKEND", model.failedInBackend);
  add("OTHER", model.failedOther);
}

void addCounts(const ModelStatistics& model,
               metrics::MetricFamilies& families) {
  const Labels labels = labelsOf(model);
  families.addCounter("nv_inference_request_success",
                      "Requests that were answered.", labels,
                      double(model.success.count));
  addFailures(model, families);
  families.addCounter("nv_inference_count",
                      "Elements of the batches that the model computed.",
                      labels, double(model.inferenceCount));
  families.addCounter("nv_inference_exec_count",
                      "Batches that the model computed.", labels,
                      double(model.executionCount));
  families.addGauge("nv_inference_pending_request_count",
                    "Requests that wait for the model.", labels,
                    double(model.pending));
  families.addGauge("nv_model_load_duration_secs",
                    "Time that the model took to load in seconds.", labels,
                    model.loadSeconds);
}

void addDurations(const ModelStatistics& model,
                  metrics::MetricFamilies& families) {
  const Labels labels = labelsOf(model);
  auto add = [&](const char* name, const char* help,
                 const DurationCount& duration) {
    families.addCounter(name, help, labels, microseconds(duration.nanoseconds));
  };
  add("nv_inference_request_duration_us",
      "Time of answered requests from their arrival to their end in "
      "microseconds.",
      model.success);
  add("nv_inference_queue_duration_us",
      "Time of requests in the queue in microseconds.", model.queue);
  add("nv_inference_compute_input_duration_us",
      "Time for the inputs of requests in microseconds.", model.computeInput);
  add("nv_inference_compute_infer_duration_us",
      "Time in which the model computed requests in microseconds.",
      model.computeInfer);
  add("nv_inference_compute_output_duration_us",
      "Time for the outputs of requests in microseconds.", model.computeOutput);
}

void addCache(const ModelStatistics& model, metrics::MetricFamilies& families) {
  const Labels labels = labelsOf(model);
  families.addCounter("nv_cache_num_hits_per_model",
                      "Requests that the response cache answered.", labels,
                      double(model.cacheHit.count));
  families.addCounter("nv_cache_num_misses_per_model",
                      "Requests that the response cache did not have.", labels,
                      double(model.cacheMiss.count));
  families.addCounter("nv_cache_hit_duration_per_model",
                      "Time to find responses in microseconds.", labels,
                      microseconds(model.cacheHit.nanoseconds));
  families.addCounter("nv_cache_miss_duration_per_model",
                      "Time to look for and to store responses in "
                      "microseconds.",
                      labels, microseconds(model.cacheMiss.nanoseconds));
}

} // namespace

struct ModelMetrics::Noted {
  explicit Noted(const Summary::Quantiles& quantiles)
      : summaries{Summary(quantiles), Summary(quantiles), Summary(quantiles),
                  Summary(quantiles), Summary(quantiles), Summary(quantiles),
                  Summary(quantiles)} {}

  /// Of a phase behind the first response.
  Summary& summaryOf(InferencePhase phase) {
    return summaries[size_t(phase) - size_t(InferencePhase::request)];
  }

  prometheus::Histogram firstResponse{firstResponseBuckets};
  std::array<Summary, 7> summaries; // by phase
};

ModelMetrics::ModelMetrics(MetricsConfig config) : config(std::move(config)) {}

ModelMetrics::~ModelMetrics() = default;

ModelMetrics::Noted& ModelMetrics::notedOf(const std::string& model,
                                           const std::string& version) {
  std::unique_ptr<Noted>& found = noted[{model, version}];
  if (!found)
    found = std::make_unique<Noted>(quantilesOf(config));
  return *found;
}

void ModelMetrics::note(const std::string& model, const std::string& version,
                        InferencePhase phase, uint64_t nanoseconds) {
  if (phase == InferencePhase::firstResponse) {
    if (config.histogramLatencies)
      notedOf(model, version)
          .firstResponse.Observe(double(nanoseconds) /
                                 nanosecondsOfMillisecond);
  } else if (config.summaryLatencies) {
    notedOf(model, version).summaryOf(phase).Observe(microseconds(nanoseconds));
  }
}

void ModelMetrics::collect(const std::vector<ModelStatistics>& models,
                           metrics::MetricFamilies& families) {
  forgetOthers(models);
  for (const ModelStatistics& model : models) {
    notedOf(model.name, model.version); // zeros before the first request
    addCounts(model, families);
    if (config.counterLatencies)
      addDurations(model, families);
    if (config.counterLatencies && usesCache(model))
      addCache(model, families);
    addNoted(model, families);
  }
}

void ModelMetrics::addNoted(const ModelStatistics& model,
                            metrics::MetricFamilies& families) const {
  using Phase = InferencePhase;
  Noted& of = *noted.at({model.name, model.version});
  auto add = [&](const char* name, const char* help, Phase phase) {
    families.add(name, help, MetricType::Summary, labelsOf(model),
                 of.summaryOf(phase).Collect());
  };
  if (config.histogramLatencies)
    families.add("nv_inference_first_response_histogram_ms",
                 "Time from a request to its first response in milliseconds.",
                 MetricType::Histogram, labelsOf(model),
                 of.firstResponse.Collect());
  if (!config.summaryLatencies)
    return;
  if (!usesCache(model)) // as Triton, whose time of a miss is not in it
    add("nv_inference_request_summary_us",
        "Time of answered requests in microseconds.", Phase::request);
  add("nv_inference_queue_summary_us",
      "Time of requests in the queue in microseconds.", Phase::queue);
  add("nv_inference_compute_input_summary_us",
      "Time for the inputs of requests in microseconds.", Phase::computeInput);
  add("nv_inference_compute_infer_summary_us",
      "Time in which the model computed requests in microseconds.",
      Phase::computeInfer);
  add("nv_inference_compute_output_summary_us",
      "Time for the outputs of requests in microseconds.",
      Phase::computeOutput);
  if (!usesCache(model))
    return;
  add("nv_cache_hit_summary_per_model",
      "Time to find responses in microseconds.", Phase::cacheHit);
  add("nv_cache_miss_summary_per_model",
      "Time to look for and to store responses in microseconds.",
      Phase::cacheMiss);
}

void ModelMetrics::forgetOthers(const std::vector<ModelStatistics>& models) {
  std::erase_if(noted, [&](const auto& each) {
    return std::ranges::none_of(models, [&](const ModelStatistics& model) {
      return each.first == Key(model.name, model.version);
    });
  });
}

} // namespace reciperun::server
