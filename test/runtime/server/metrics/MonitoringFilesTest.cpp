// The dashboard and the alerts of docs/monitoring name only metrics that the
// server exports.

#include "MetricsText.h"
#include "runtime/server/metrics/ServerMetrics.h"
#include "test/FakeNvml.h"
#include "test/SourceRoot.h"
#include "test/runtime/serve/engine/FakeModel.h"

#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <string>
#include <thread>

namespace reciperun::server {
namespace {

std::string textOf(const std::string& file) {
  std::ifstream in(std::string(RECIPEC_SOURCE_ROOT) + "/docs/monitoring/" +
                   file);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Every metric that there can be, each with its type.
std::map<std::string, std::string> allTypes() {
  MetricsConfig config;
  config.histogramLatencies = config.summaryLatencies = true;
  ServerMetrics metrics(config, FAKE_NVML);
  metrics.addEngine({.model = "m", .limits = serve::smallLimits()},
                    [] { return serve::EngineStatistics(); });
  metrics.setModels([] {
    ModelStatistics model;
    model.name = "m";
    model.usesCache = true;
    return std::vector<ModelStatistics>{model};
  });
  const auto deadline =
      std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (metrics.machineStatus().gpus.empty() &&
         std::chrono::steady_clock::now() < deadline)
    std::this_thread::yield();
  return MetricsText(metrics.text()).types;
}

/// The name of the metric that a series belongs to.
std::string metricOf(const std::string& series,
                     const std::map<std::string, std::string>& types) {
  static const std::regex parts("(.*)_(bucket|sum|count)");
  std::smatch match;
  if (!types.contains(series) && std::regex_match(series, match, parts) &&
      types.contains(match[1]) && types.at(match[1]) == "histogram")
    return match[1];
  return series;
}

void expectExported(const std::string& file, size_t least) {
  const std::string text = textOf(file);
  const auto types = allTypes();
  const std::regex name(R"(\b(vllm:|nv_|reciperun_)\w+)");
  std::set<std::string> found;
  for (std::sregex_iterator each(text.begin(), text.end(), name), end;
       each != end; ++each)
    found.insert(metricOf(each->str(), types));
  EXPECT_GE(found.size(), least) << file;
  for (const std::string& each : found)
    EXPECT_TRUE(types.contains(each)) << file << ": " << each;
}

TEST(MonitoringFiles, TheDashboardNamesMetricsThatThereAre) {
  expectExported("grafana.json", 25);
}

TEST(MonitoringFiles, TheAlertsNameMetricsThatThereAre) {
  expectExported("alerts.yml", 8);
}

} // namespace
} // namespace reciperun::server
