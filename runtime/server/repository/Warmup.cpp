// See Warmup.h.

#include "runtime/server/repository/Warmup.h"

#include <exception>
#include <memory>
#include <utility>

namespace reciperun::server {
namespace {

Status executeSample(BatchBackend& instance, const WarmupSample& sample) {
  const std::vector<const InferRequest*> batch(sample.batch, &sample.request);
  try {
    for (const BatchBackend::Answer& answer : instance.execute(batch))
      RECIPERUN_TRY(answer);
  } catch (const std::exception& error) { // memory is short
    return Status::error(error.what());
  }
  return Status::ok();
}

/// Is held by the work that it waits for.
class WarmupRun : public std::enable_shared_from_this<WarmupRun> {
public:
  WarmupRun(LoadedModel given, RunInBackground inBackground,
            std::function<bool()> isStopping,
            std::function<void(Expected<LoadedModel>)> then)
      : model(std::move(given)), inBackground(std::move(inBackground)),
        isStopping(std::move(isStopping)), then(std::move(then)) {
    for (LoadedModel::Version& version : model.versions) {
      for (const auto& instance : version.code.instances)
        targets.push_back({.instance = instance.get()});
      if (version.code.stream)
        targets.push_back({.stream = version.code.stream.get()});
    }
  }

  /// Begins the next run, or ends.
  void next() {
    if (isStopping())
      return;
    if (runs == model.warmup[sample].runs) {
      runs = 0;
      ++sample;
    }
    if (sample == model.warmup.size()) {
      sample = 0;
      ++target;
    }
    if (target == targets.size())
      return then(std::move(model));
    ++runs;
    const Target& current = targets[target];
    return current.instance ? run(*current.instance) : run(*current.stream);
  }

private:
  /// One of them.
  struct Target {
    BatchBackend* instance = nullptr;
    StreamBackend* stream = nullptr;
  };

  void run(BatchBackend& instance) {
    const auto outcome = std::make_shared<Status>();
    inBackground(
        [self = shared_from_this(), outcome, &instance] {
          *outcome = executeSample(instance, self->model.warmup[self->sample]);
        },
        [self = shared_from_this(), outcome] { self->take(*outcome); });
  }

  void run(StreamBackend& stream) {
    const WarmupSample& asked = model.warmup[sample];
    const auto outcome = std::make_shared<Status>();
    const auto open = std::make_shared<size_t>(asked.batch);
    for (size_t i = 0; i < asked.batch; ++i)
      stream.start(std::make_shared<Inference>(
          asked.request, [self = shared_from_this(), outcome,
                          open](const InferResponse& response) {
            if (outcome->isOk())
              *outcome = response.status;
            if (!response.isLast || --*open > 0)
              return;
            // Apart from the backend's call, which may still be in start().
            self->inBackground([] {},
                               [self, outcome] { self->take(*outcome); });
          }));
  }

  void take(const Status& outcome) {
    if (outcome.isOk())
      return next();
    then(Status::error("failed to run warmup sample '" +
                           model.warmup[sample].name +
                           "': " + outcome.message(),
                       StatusCode::invalidArgument));
  }

  LoadedModel model;
  const RunInBackground inBackground;
  const std::function<bool()> isStopping;
  const std::function<void(Expected<LoadedModel>)> then;
  std::vector<Target> targets;
  size_t target = 0, sample = 0;
  size_t runs = 0; // of the sample that have begun
};

} // namespace

void warmUp(Expected<LoadedModel> loaded, RunInBackground inBackground,
            std::function<bool()> isStopping,
            std::function<void(Expected<LoadedModel>)> then) {
  if (!loaded || loaded->warmup.empty())
    return then(std::move(loaded));
  std::make_shared<WarmupRun>(*std::move(loaded), std::move(inBackground),
                              std::move(isStopping), std::move(then))
      ->next();
}

} // namespace reciperun::server
