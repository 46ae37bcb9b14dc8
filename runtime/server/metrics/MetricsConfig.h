// What `--metrics-config` sets, with Triton's settings.

#ifndef RECIPERUN_SERVER_METRICS_METRICSCONFIG_H
#define RECIPERUN_SERVER_METRICS_METRICSCONFIG_H

#include "runtime/base/Status.h"

#include <string>
#include <vector>

namespace reciperun::server {

/// A quantile of a summary, and by how much its rank may be off.
struct SummaryQuantile {
  double quantile = 0;
  double error = 0;

  bool operator==(const SummaryQuantile&) const = default;
};

struct MetricsConfig {
  bool counterLatencies = true;    // nv_inference_*_duration_us
  bool histogramLatencies = false; // nv_inference_*_histogram_ms
  bool summaryLatencies = false;   // nv_*_summary_us
  std::vector<SummaryQuantile> quantiles = {
      {0.5, 0.05}, {0.9, 0.01}, {0.95, 0.001}, {0.99, 0.001}, {0.999, 0.001}};
};

/// Applies `setting=value`. Fails, with the settings that there are, for an
/// unknown setting, and for a value that the setting does not take.
Status applySetting(const std::string& text, MetricsConfig& config);

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_METRICS_METRICSCONFIG_H
