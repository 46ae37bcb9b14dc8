// Brings the models of a Repository into service and out of it.

#include "runtime/server/repository/Repository.h"

#include "runtime/server/config/ModelConfig.h"
#include "runtime/server/config/model_config.pb.h"
#include "runtime/server/repository/ModelSchedulers.h"
#include "runtime/server/repository/Warmup.h"
#include "runtime/server/schedule/EnsembleScheduler.h"

#include <algorithm>
#include <cstdio>
#include <utility>

namespace reciperun::server {
namespace {

constexpr size_t loaderThreads = 4;
constexpr const char* everyModel = "*";

Status internal(const std::string& message) {
  return Status::error(message, StatusCode::internal);
}

bool isEnsemble(const inference::ModelConfig& config) {
  return config.has_ensemble_scheduling();
}

std::set<std::string> stepsOf(const inference::ModelConfig& ensemble) {
  std::set<std::string> models;
  for (const auto& step : ensemble.ensemble_scheduling().step())
    models.insert(step.model_name());
  return models;
}

/// What a loader thread has read.
struct ReadModel {
  std::chrono::steady_clock::time_point begin;
  std::string stamp = {};
  Expected<LoadedModel> loaded = LoadedModel();
};

double secondsSince(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin)
      .count();
}

} // namespace

Repository::Repository(EventLoop& loop, const ModelSource& source,
                       Settings given)
    : loop(loop), source(source), settings(std::move(given)),
      limiter(settings.resources), cache(settings.cacheBytes),
      loaders(loaderThreads) {}

Repository::~Repository() {
  *isAlive = false;
}

void Repository::start(std::function<void(Status)> then) {
  std::set<std::string> names = settings.startWith;
  if (settings.control != ModelControl::explicitly ||
      names.contains(everyModel)) {
    const std::vector<std::string> all = source.names();
    names = {all.begin(), all.end()};
  }
  // One more than models: the last step below counts as one.
  const auto missing = std::make_shared<size_t>(names.size() + 1);
  const auto first = std::make_shared<Status>();
  const auto count = [this, missing, first,
                      then = std::move(then)](const Status& outcome) {
    if (first->isOk() && !outcome.isOk())
      *first = outcome;
    if (--*missing > 0)
      return;
    hasStarted = true;
    if (settings.control == ModelControl::poll)
      pollLater();
    then(*first);
  };
  for (const std::string& name : names)
    beginLoad(name, {}, count);
  count(Status::ok());
}

Status Repository::checkControl() const {
  if (settings.control == ModelControl::explicitly)
    return Status::ok();
  return Status::error(
      "explicit model load / unload is not allowed if polling is enabled",
      StatusCode::unavailable);
}

void Repository::load(const std::string& model, LoadOverrides overrides,
                      std::function<void(Status)> then) {
  if (const Status allowed = checkControl(); !allowed.isOk())
    return then(allowed);
  if (model == ".." || model.find('/') != std::string::npos)
    return then(Status::error("invalid model name '" + model +
                                  "', model name must not contain path "
                                  "traversal characters",
                              StatusCode::invalidArgument));
  const std::vector<std::string> names = source.names();
  if (!std::ranges::binary_search(names, model))
    return then(internal("failed to load '" + model +
                         "', failed to poll from model repository"));
  if (!overrides.files.empty() && !overrides.config)
    return then(Status::error("Load parameter 'config' must be specified for "
                              "model file override",
                              StatusCode::invalidArgument));
  beginLoad(model, std::move(overrides), std::move(then));
}

void Repository::beginLoad(const std::string& name, LoadOverrides overrides,
                           Then then) {
  Entry& entry = entries[name];
  entry.isWanted = true;
  entry.waiting.push_back(std::move(then));
  if (std::exchange(entry.isLoading, true))
    return; // those that ask meanwhile get the same answer
  const auto read = std::make_shared<ReadModel>();
  inBackground(
      [this, read, name, overrides = std::move(overrides)] {
        read->begin = std::chrono::steady_clock::now();
        read->stamp = source.stampOf(name);
        read->loaded = source.load(name, overrides);
      },
      [this, read, name] {
        entries[name].stamp = read->stamp;
        const auto background = [this, alive = isAlive](auto work, auto then) {
          if (*alive)
            inBackground(std::move(work), std::move(then));
        };
        warmUp(
            std::move(read->loaded), background, [this] { return isStopping; },
            [this, name, begin = read->begin](Expected<LoadedModel> loaded) {
              install(name, std::move(loaded), secondsSince(begin));
            });
      });
}

/// Runs `work` on a loader thread, then `then` on the server's thread, unless
/// the repository is destroyed before.
void Repository::inBackground(std::function<void()> work,
                              std::function<void()> then) {
  loaders.run(std::move(work), loop, [alive = isAlive, then = std::move(then)] {
    if (*alive)
      then();
  });
}

void Repository::install(const std::string& name, Expected<LoadedModel> loaded,
                         double seconds) {
  if (!loaded)
    return endLoad(name, loaded.status());
  for (const std::string& warning : loaded->warnings)
    std::fprintf(stderr, "warning: %s\n", warning.c_str());
  Entry& entry = entries[name];
  entry.ensemble = isEnsemble(*loaded->config) ? loaded->config : nullptr;
  if (entry.ensemble) {
    entry.ensembleVersion = loaded->versions.back().number;
    entry.ensembleLabels = std::move(loaded->labels);
    return installSteps(name);
  }
  Versions versions;
  for (LoadedModel::Version& each : loaded->versions) {
    auto version = std::make_shared<ServedVersion>(
        loaded->config, each.number,
        [&](ModelStatistics& counts) {
          return schedulerOf(loaded->config, std::move(each.code), counts);
        },
        loaded->config->response_cache().enable() && cache.isEnabled()
            ? &cache
            : nullptr,
        settings.observer);
    version->setLoadTime(seconds);
    version->setLabels(loaded->labels);
    versions.emplace(each.number, std::move(version));
  }
  put(entry, std::move(versions));
  endLoad(name, Status::ok());
  refreshEnsembles(name);
}

/// Loads the models of an ensemble's steps that are not in service, then the
/// ensemble.
void Repository::installSteps(const std::string& ensemble) {
  Entry& entry = entries[ensemble];
  entry.waitsFor.clear();
  const auto ensembleOf = [this](const std::string& model, int64_t) {
    const auto found = entries.find(model);
    return found == entries.end() ? nullptr : found->second.ensemble;
  };
  if (const Status checked =
          checkCircularEnsembles(*entry.ensemble, ensembleOf);
      !checked.isOk())
    return endLoad(ensemble, checked);
  const std::vector<std::string> names = source.names();
  for (const std::string& model : stepsOf(*entry.ensemble)) {
    const auto found = entries.find(model);
    const bool isServed = found != entries.end() && !found->second.isLoading &&
                          !found->second.ready.empty();
    if (isServed || !std::ranges::binary_search(names, model))
      continue;
    entry.waitsFor.insert(model);
  }
  if (entry.waitsFor.empty())
    return installEnsemble(ensemble);
  for (const std::string& model : std::set(entry.waitsFor))
    beginLoad(model, {}, [this, ensemble, model](const Status&) {
      Entry& waiting = entries[ensemble];
      if (waiting.waitsFor.erase(model) && waiting.waitsFor.empty())
        installEnsemble(ensemble);
    });
}

void Repository::installEnsemble(const std::string& name) {
  Entry& entry = entries[name];
  const auto lookUp = [this](const std::string& model, int64_t version) {
    return configOf(model, version);
  };
  if (const Status checked = checkEnsemble(*entry.ensemble, lookUp);
      !checked.isOk()) {
    const bool wasServed = !entry.ready.empty();
    retire(name, entry, std::exchange(entry.ready, {}));
    entry.failures = {{entry.ensembleVersion, checked.message()}};
    endLoad(name, checked);
    return wasServed ? refreshEnsembles(name) : void();
  }
  EnsembleGraph graph = ensembleGraphOf(*entry.ensemble, lookUp);
  auto config = std::make_shared<inference::ModelConfig>(*entry.ensemble);
  if (graph.isDecoupled)
    config->mutable_model_transaction_policy()->set_decoupled(true);
  auto version = std::make_shared<ServedVersion>(
      config, entry.ensembleVersion,
      [&](ModelStatistics& counts) {
        return std::make_unique<EnsembleScheduler>(
            std::move(graph),
            [this](InferRequest request, Inference::Respond respond) {
              return infer(std::move(request), std::move(respond));
            },
            counts);
      },
      nullptr, settings.observer);
  version->setLabels(entry.ensembleLabels);
  put(entry, {{entry.ensembleVersion, std::move(version)}});
  endLoad(name, Status::ok());
  refreshEnsembles(name);
}

/// Reports the end of loading to those that wait for a model.
void Repository::endLoad(const std::string& name, const Status& outcome) {
  Entry& entry = entries[name];
  entry.isLoading = false;
  entry.waitsFor.clear();
  Status told = outcome;
  if (!outcome.isOk()) {
    if (entry.ready.empty() && entry.failures.empty())
      entry.failures = {{1, outcome.message()}};
    told = Status::error("load failed for model '" + name +
                             "': " + outcome.message() + "\n",
                         StatusCode::invalidArgument);
  }
  for (const Then& then : std::exchange(entry.waiting, {}))
    then(told);
}

/// Puts versions into service and retires the previous ones.
void Repository::put(Entry& entry, Versions versions) {
  entry.failures.clear();
  Versions old = std::exchange(entry.ready, std::move(versions));
  const std::string name = entry.ready.begin()->second->config()->name();
  retire(name, entry, std::move(old));
}

/// Keeps versions that left service alive until their open requests have ended.
void Repository::retire(const std::string& name, Entry& entry,
                        Versions versions) {
  for (auto& [number, version] : versions) {
    const bool isReplaced = entry.ready.contains(number);
    if (!isReplaced)
      entry.retiring[number] = "UNLOADING";
    version->whenIdle([this, alive = isAlive, name, number = number,
                       version = version, isReplaced] {
      // A version is destroyed outside of its own functions.
      loop.post([this, alive, name, number, version, isReplaced] {
        if (!*alive || isReplaced)
          return;
        Entry& own = entries[name];
        own.retiring.erase(number);
        if (!own.ready.contains(number) && !own.failures.contains(number))
          own.failures[number] = "unloaded";
      });
    });
  }
}

/// Verifies the ensembles again that have the changed model as a step.
void Repository::refreshEnsembles(const std::string& changed) {
  std::vector<std::string> affected;
  for (const auto& [name, entry] : entries)
    if (entry.ensemble && entry.isWanted && !entry.isLoading &&
        stepsOf(*entry.ensemble).contains(changed))
      affected.push_back(name);
  for (const std::string& name : affected)
    installEnsemble(name);
}

void Repository::unload(const std::string& model, bool dependents,
                        std::function<void(Status)> then) {
  if (const Status allowed = checkControl(); !allowed.isOk())
    return then(allowed);
  const auto found = entries.find(model);
  if (found == entries.end())
    return then(Status::ok());
  Entry& entry = found->second;
  if (entry.isLoading)
    return then(Status::error("a related model '" + model +
                                  "' to a load/unload request is currently "
                                  "loading or unloading",
                              StatusCode::unavailable));
  const SharedConfig ensemble = std::exchange(entry.ensemble, nullptr);
  entry.isWanted = false;
  retire(model, entry, std::exchange(entry.ready, {}));
  if (dependents && ensemble)
    for (const std::string& step : stepsOf(*ensemble))
      unload(step, true, [](const Status&) {});
  refreshEnsembles(model);
  then(Status::ok());
}

// ---- polling

void Repository::pollLater() {
  loop.runAfter(settings.pollInterval, [this, alive = isAlive] {
    if (!*alive)
      return;
    const auto stamps = std::make_shared<std::map<std::string, std::string>>();
    inBackground(
        [this, stamps] {
          for (const std::string& name : source.names())
            stamps->emplace(name, source.stampOf(name));
        },
        [this, stamps] {
          poll(*stamps);
          pollLater();
        });
  });
}

/// Follows the files of the repository.
void Repository::poll(const std::map<std::string, std::string>& stamps) {
  for (const auto& [name, stamp] : stamps) {
    const Entry& entry = entries[name];
    if (!entry.isLoading && (!entry.isWanted || entry.stamp != stamp))
      beginLoad(name, {}, [](const Status&) {});
  }
  for (auto& [name, entry] : entries)
    if (entry.isWanted && !entry.isLoading && !stamps.contains(name)) {
      entry.isWanted = false;
      entry.ensemble = nullptr;
      retire(name, entry, std::exchange(entry.ready, {}));
    }
}

std::unique_ptr<Scheduler> Repository::schedulerOf(const SharedConfig& config,
                                                   ModelCode code,
                                                   ModelStatistics& counts) {
  return makeScheduler(
      *config, std::move(code),
      {.loop = loop, .limiter = limiter, .limitsRates = settings.limitsRates},
      counts);
}

} // namespace reciperun::server
