// See MetricFamilies.h.

#include "runtime/metrics/MetricFamilies.h"

#include <prometheus/text_serializer.h>

#include <algorithm>
#include <utility>

namespace reciperun::metrics {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

std::string textOf(const std::vector<MetricFamily>& families) {
  return prometheus::TextSerializer().Serialize(families);
}

void MetricFamilies::addCounter(const char* name, const char* help,
                                const prometheus::Labels& labels,
                                double value) {
  ClientMetric metric;
  metric.counter.value = value;
  add(name, help, MetricType::Counter, labels, std::move(metric));
}

void MetricFamilies::addGauge(const char* name, const char* help,
                              const prometheus::Labels& labels, double value) {
  ClientMetric metric;
  metric.gauge.value = value;
  add(name, help, MetricType::Gauge, labels, std::move(metric));
}

void MetricFamilies::add(const char* name, const char* help, MetricType type,
                         const prometheus::Labels& labels,
                         ClientMetric metric) {
  auto found = std::ranges::find(all, name, &MetricFamily::name);
  if (found == all.end())
    found = all.insert(all.end(), {name, help, type, {}});
  for (const auto& [label, value] : labels)
    metric.label.push_back({label, value});
  found->metric.push_back(std::move(metric));
}

} // namespace reciperun::metrics
