// The models of a source in service.
//
// A loader thread reads a model and runs the requests of its warm-up. The
// server's thread then puts the model into service, where it may replace older
// versions. Retired versions still answer the requests that they have begun. An
// ensemble loads the models of its steps and comes into service after them;
// when one of them changes, the ensemble is verified again.

#ifndef RECIPERUN_SERVER_REPOSITORY_REPOSITORY_H
#define RECIPERUN_SERVER_REPOSITORY_REPOSITORY_H

#include "runtime/server/front/WorkerThreads.h"
#include "runtime/server/http/EventLoop.h"
#include "runtime/server/models/ModelServer.h"
#include "runtime/server/repository/ModelSource.h"
#include "runtime/server/repository/ResponseCache.h"
#include "runtime/server/repository/ServedVersion.h"
#include "runtime/server/schedule/RateLimiter.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace reciperun::server {

/// Who decides which models are in service.
enum class ModelControl {
  none,       // all are loaded at the start
  explicitly, // those of the start, then the clients
  poll        // all; changes of their files are followed
};

class Repository : public ModelServer {
public:
  struct Settings {
    ModelControl control = ModelControl::none;
    /// With ModelControl::explicitly: the models to load at the start; `*` is
    /// all.
    std::set<std::string> startWith = {};
    std::chrono::seconds pollInterval{15};
    size_t cacheBytes = 0; // of responses
    bool limitsRates = false;
    /// Whether isReady() is false while a model that is wanted is not ready.
    bool isReadyWithAllModels = true;
    std::map<std::string, uint64_t> resources = {}; // of the rate limiter
    /// Observes each request; null: none. Must outlive the repository.
    InferenceObserver* observer = nullptr;
  };

  /// The references must outlive the object.
  Repository(EventLoop& loop, const ModelSource& source, Settings settings);
  Repository(const Repository&) = delete;
  Repository& operator=(const Repository&) = delete;
  ~Repository() override;

  /// Loads the models that are wanted at the start; `then` gets the first
  /// failure.
  void start(std::function<void(Status)> then);
  /// Refuses new requests from now on.
  void stop() { isStopping = true; }
  /// Requests that have not ended.
  size_t openRequests() const;

  bool isLive() const override { return !isStopping; }
  bool isReady() const override;
  Expected<bool> isModelReady(const std::string& model,
                              int64_t version) const override;
  Expected<ModelMetadata> metadata(const std::string& model,
                                   int64_t version) const override;
  Expected<SharedConfig> config(const std::string& model,
                                int64_t version) const override;
  Expected<std::vector<ModelStatistics>>
  statistics(const std::string& model, int64_t version) const override;
  std::shared_ptr<Inference> infer(InferRequest request,
                                   Inference::Respond respond) override;
  std::vector<IndexEntry> index(bool readyOnly) const override;
  void load(const std::string& model, LoadOverrides overrides,
            std::function<void(Status)> then) override;
  void unload(const std::string& model, bool dependents,
              std::function<void(Status)> then) override;

private:
  using Then = std::function<void(Status)>;
  using Versions = std::map<int64_t, std::shared_ptr<ServedVersion>>;

  struct Entry {
    Versions ready;
    std::map<int64_t, std::string> retiring; // states by version
    std::map<int64_t, std::string> failures; // reasons by version
    SharedConfig ensemble; // of an ensemble that is in service or is to be
    int64_t ensembleVersion = 1;
    ClassLabels ensembleLabels;
    std::string stamp;     // of the files that were loaded last
    bool isWanted = false; // in service, or to be
    bool isLoading = false;
    std::vector<Then> waiting;      // for the end of loading
    std::set<std::string> waitsFor; // models of steps
  };

  // ---- loading
  void inBackground(std::function<void()> work, std::function<void()> then);
  void beginLoad(const std::string& name, LoadOverrides overrides, Then then);
  void install(const std::string& name, Expected<LoadedModel> loaded,
               double seconds);
  void installSteps(const std::string& ensemble);
  void installEnsemble(const std::string& name);
  void endLoad(const std::string& name, const Status& outcome);
  void put(Entry& entry, Versions versions);
  void retire(const std::string& name, Entry& entry, Versions versions);
  void refreshEnsembles(const std::string& changed);
  std::unique_ptr<Scheduler> schedulerOf(const SharedConfig& config,
                                         ModelCode code,
                                         ModelStatistics& counts);
  Status checkControl() const;
  void pollLater();
  void poll(const std::map<std::string, std::string>& stamps);

  // ---- serving
  Expected<std::shared_ptr<ServedVersion>> find(const std::string& model,
                                                int64_t version) const;
  Expected<std::shared_ptr<ServedVersion>> findLoaded(const std::string& model,
                                                      int64_t version) const;
  SharedConfig configOf(const std::string& model, int64_t version) const;

  EventLoop& loop;
  const ModelSource& source;
  Settings settings;
  RateLimiter limiter;
  ResponseCache cache;
  std::map<std::string, Entry> entries;
  bool hasStarted = false, isStopping = false;
  /// Becomes false on destruction, so that posted work no longer uses the
  /// object.
  std::shared_ptr<bool> isAlive = std::make_shared<bool>(true);
  WorkerThreads loaders;
};

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_REPOSITORY_REPOSITORY_H
