// See ModelSchedulers.h.

#include "runtime/server/repository/ModelSchedulers.h"

#include "runtime/server/config/model_config.pb.h"
#include "runtime/server/schedule/BatchScheduler.h"
#include "runtime/server/schedule/SequenceScheduler.h"

#include <chrono>
#include <utility>

namespace reciperun::server {
namespace {

/// Passes each request to a backend that answers it by itself.
class StreamScheduler : public Scheduler {
public:
  StreamScheduler(std::unique_ptr<StreamBackend> backend,
                  ModelStatistics& counts)
      : backend(std::move(backend)), counts(counts) {}

  void enqueue(std::shared_ptr<Inference> inference,
               int64_t elements) override {
    counts.noteExecution(uint64_t(elements));
    backend->start(std::move(inference));
  }
  Status health() const override { return backend->health(); }

private:
  std::unique_ptr<StreamBackend> backend;
  ModelStatistics& counts;
};

/// The resources that each instance needs, and their priorities.
void addRates(const inference::ModelConfig& config,
              ModelInstances::Settings& settings) {
  for (const inference::ModelInstanceGroup& group : config.instance_group())
    for (int i = 0; i < group.count(); ++i) {
      RateLimiter::Needs& needs = settings.needs.emplace_back();
      for (const auto& resource : group.rate_limiter().resources())
        needs[resource.name()] += resource.count();
      settings.priorities.push_back(group.rate_limiter().priority());
    }
}

} // namespace

std::unique_ptr<Scheduler> makeScheduler(const inference::ModelConfig& config,
                                         ModelCode code,
                                         const SchedulerContext& context,
                                         ModelStatistics& counts) {
  if (code.stream)
    return std::make_unique<StreamScheduler>(std::move(code.stream), counts);
  ModelInstances::Settings instances;
  instances.backends = std::move(code.instances);
  if (context.limitsRates)
    addRates(config, instances);
  if (config.has_sequence_batching())
    return std::make_unique<SequenceScheduler>(context.loop, context.limiter,
                                               sequenceSettingsOf(config),
                                               std::move(instances), counts);
  return std::make_unique<BatchScheduler>(context.loop, context.limiter,
                                          batchSettingsOf(config),
                                          std::move(instances), counts);
}

} // namespace reciperun::server
