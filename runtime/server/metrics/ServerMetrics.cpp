// See ServerMetrics.h.

#include "runtime/server/metrics/ServerMetrics.h"

#include <prometheus/registry.h>

#include <iterator>
#include <utility>

namespace reciperun::server {

ServerMetrics::ServerMetrics(MetricsConfig config, std::string nvml)
    : registry(std::make_unique<prometheus::Registry>()),
      models(std::move(config)), machine("/proc", std::move(nvml)) {}

ServerMetrics::~ServerMetrics() = default;

EngineMetrics& ServerMetrics::addEngine(EngineFacts facts, ReadEngine read) {
  all.push_back({std::make_unique<EngineMetrics>(*registry, std::move(facts)),
                 std::move(read)});
  return *all.back().metrics;
}

void ServerMetrics::takeEngines() {
  for (const Engine& each : all)
    each.metrics->take(each.read());
}

std::vector<ModelStatistics> ServerMetrics::modelStatistics() const {
  return readModels ? readModels() : std::vector<ModelStatistics>();
}

std::vector<ServerMetrics::EngineView> ServerMetrics::engines() {
  takeEngines();
  std::vector<EngineView> made;
  for (const Engine& each : all)
    made.push_back({&each.metrics->facts(),
                    each.metrics->status(std::chrono::steady_clock::now())});
  return made;
}

std::string ServerMetrics::text() {
  takeEngines();
  metrics::MetricFamilies made;
  made.addGauge("reciperun_ready",
                "1 while the server takes requests, otherwise 0.", {},
                isReady && isReady() ? 1 : 0);
  models.collect(modelStatistics(), made);
  machine.collect(made);
  std::vector<prometheus::MetricFamily> families = registry->Collect();
  std::ranges::move(made.take(), std::back_inserter(families));
  return metrics::textOf(families);
}

} // namespace reciperun::server
