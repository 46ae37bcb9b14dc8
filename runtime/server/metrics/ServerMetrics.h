// All metrics of the server in Prometheus' text format: of engines under vLLM's
// names, of models and of the machine under Triton's.

#ifndef RECIPERUN_SERVER_METRICS_SERVERMETRICS_H
#define RECIPERUN_SERVER_METRICS_SERVERMETRICS_H

#include "runtime/server/metrics/EngineMetrics.h"
#include "runtime/server/metrics/MachineMetrics.h"
#include "runtime/server/metrics/MetricsConfig.h"
#include "runtime/server/metrics/ModelMetrics.h"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace prometheus {
class Registry;
}

namespace reciperun::server {

/// Belongs to the server's thread.
class ServerMetrics {
public:
  using ReadEngine = std::function<serve::EngineStatistics()>;
  using ReadModels = std::function<std::vector<ModelStatistics>()>;

  /// `nvml` is the name of NVML's library.
  explicit ServerMetrics(MetricsConfig config = {},
                         std::string nvml = nvml::Library::defaultName);
  ServerMetrics(const ServerMetrics&) = delete;
  ServerMetrics& operator=(const ServerMetrics&) = delete;
  ~ServerMetrics();

  /// Adds an engine. A scrape reads its state with `read`. The result lives as
  /// long as the object.
  EngineMetrics& addEngine(EngineFacts facts, ReadEngine read);
  /// A scrape reads the models with `read`.
  void setModels(ReadModels read) { readModels = std::move(read); }
  /// A scrape asks `read` whether the server accepts requests.
  void setReady(std::function<bool()> read) { isReady = std::move(read); }
  /// The observer that models report their requests to.
  InferenceObserver& observer() { return models; }

  /// All metrics, in the text format 0.0.4.
  std::string text();

  // ---- for pages

  struct EngineView {
    const EngineFacts* facts;
    EngineStatus status;
  };
  std::vector<EngineView> engines();
  std::vector<ModelStatistics> modelStatistics() const;
  MachineStatus machineStatus() { return machine.status(); }

private:
  struct Engine {
    std::unique_ptr<EngineMetrics> metrics;
    ReadEngine read;
  };

  void takeEngines();

  std::unique_ptr<prometheus::Registry> registry;
  std::function<bool()> isReady;
  std::vector<Engine> all;
  ModelMetrics models;
  ReadModels readModels;
  MachineMetrics machine;
};

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_METRICS_SERVERMETRICS_H
