// Metrics that are created at a scrape from counts that other objects keep.

#ifndef RECIPERUN_SERVER_METRICS_METRICFAMILIES_H
#define RECIPERUN_SERVER_METRICS_METRICFAMILIES_H

#include <prometheus/labels.h>
#include <prometheus/metric_family.h>

#include <string>
#include <vector>

namespace reciperun::server {

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

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_METRICS_METRICFAMILIES_H
