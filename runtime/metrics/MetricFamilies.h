// Metrics in Prometheus' text format that are created at a scrape from counts
// that other objects keep.

#ifndef RECIPERUN_METRICS_METRICFAMILIES_H
#define RECIPERUN_METRICS_METRICFAMILIES_H

#include <prometheus/labels.h>
#include <prometheus/metric_family.h>

#include <string>
#include <vector>

namespace reciperun::metrics {

/// The type of the text format 0.0.4.
inline constexpr const char* contentType =
    "text/plain; version=0.0.4; charset=utf-8";

/// The families in the text format 0.0.4.
std::string textOf(const std::vector<prometheus::MetricFamily>& families);

/// In the order in which they are added.
class MetricFamilies {
public:
  void addCounter(const char* name, const char* help,
                  const prometheus::Labels& labels, double value);
  void addGauge(const char* name, const char* help,
                const prometheus::Labels& labels, double value);
  /// Adds a histogram or a summary that is complete except for its labels.
  void add(const char* name, const char* help, prometheus::MetricType type,
           const prometheus::Labels& labels, prometheus::ClientMetric metric);

  std::vector<prometheus::MetricFamily> take() { return std::move(all); }

private:
  std::vector<prometheus::MetricFamily> all;
};

} // namespace reciperun::metrics

#endif // RECIPERUN_METRICS_METRICFAMILIES_H
