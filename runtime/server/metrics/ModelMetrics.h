// The metrics of models, under Triton's names.

#ifndef RECIPERUN_SERVER_METRICS_MODELMETRICS_H
#define RECIPERUN_SERVER_METRICS_MODELMETRICS_H

#include "runtime/metrics/MetricFamilies.h"
#include "runtime/server/metrics/MetricsConfig.h"
#include "runtime/server/models/InferenceObserver.h"
#include "runtime/server/models/ModelStatistics.h"

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace reciperun::server {

/// Belongs to the server's thread.
class ModelMetrics : public InferenceObserver {
public:
  explicit ModelMetrics(MetricsConfig config);
  ~ModelMetrics() override;

  void note(const std::string& model, const std::string& version,
            InferencePhase phase, uint64_t nanoseconds) override;

  /// Adds the metrics of all models that there are. Forgets what was noted of
  /// others.
  void collect(const std::vector<ModelStatistics>& models,
               metrics::MetricFamilies& families);

private:
  struct Noted; // of one version of a model
  using Key = std::pair<std::string, std::string>;

  Noted& notedOf(const std::string& model, const std::string& version);
  void addNoted(const ModelStatistics& model,
                metrics::MetricFamilies& families) const;
  void forgetOthers(const std::vector<ModelStatistics>& models);

  MetricsConfig config;
  std::map<Key, std::unique_ptr<Noted>> noted;
};

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_METRICS_MODELMETRICS_H
