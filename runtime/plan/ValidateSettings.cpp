// The settings of a training plan: batch sizes, data sources, numbers of steps,
// the learning rate and checkpoints are in range.

#include "runtime/plan/Mesh.h"
#include "runtime/plan/Validate.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string_view>

namespace reciperun::plan {
namespace {

bool isCount(int64_t steps) {
  return steps >= 0 && steps <= maxSteps;
}

class SettingsValidation {
public:
  explicit SettingsValidation(const Plan& plan) : plan(plan) {}

  Status run() const {
    const Train& train = plan.train;
    if (train.microBatch < 1 || train.accumulation < 1 ||
        train.globalBatch < 1 || plan.data.sequence < 1)
      return damaged("its batch sizes are not positive");
    std::optional<int64_t> perRank =
        product(train.microBatch, train.accumulation);
    if (!perRank ||
        product(*perRank, axisSize(plan.mesh, "dp")) != train.globalBatch)
      return damaged("global batch " + std::to_string(train.globalBatch) +
                     " is not micro-batch * accumulation * `dp`");
    if (!plan.data.train)
      return damaged("it trains and has no training data");
    RECIPERUN_TRY(source(*plan.data.train));
    if (plan.data.valid)
      RECIPERUN_TRY(source(*plan.data.valid));
    if (!isCount(train.steps) || !isCount(train.validateEvery) ||
        !isCount(train.logEvery) || train.logEvery < 1 ||
        !(train.epochs >= 0 && train.epochs <= maxSteps))
      return damaged("its numbers of steps are out of range");
    if (!(train.spike >= 0) || !isCount(train.spikeWindow) ||
        (train.spike > 0 && train.spikeWindow < 1))
      return damaged("its measure of spikes is out of range");
    if (!(train.straggler >= 0) || !isCount(train.stragglerWindow) ||
        (train.straggler > 0 && train.stragglerWindow < 1))
      return damaged("its measure of stragglers is out of range");
    if (const std::string& groups = train.logNorms;
        !groups.empty() && groups != "layers" && groups != "parameters")
      return damaged("it logs norms of the unknown groups `" + groups + "`");
    if (const std::string& cloud = train.spotNotices;
        !cloud.empty() && cloud != "aws" && cloud != "gcp" && cloud != "azure")
      return damaged("it asks the unknown cloud `" + cloud +
                     "` for spot notices");
    if (train.metricsPort < 0 || train.metricsPort > 65535)
      return damaged("its port for metrics is out of range");
    RECIPERUN_TRY(learningRate(train.learningRate));
    RECIPERUN_TRY(checkpoints());
    if (!product(train.steps, train.globalBatch))
      return damaged("it trains on more than 2^63 sequences");
    return Status::ok();
  }

private:
  Status source(const DataSource& source) const {
    if (source.kind == "blend")
      return blend(source);
    bool hasFiles = source.kind == "text" || source.kind == "token_file";
    if (hasFiles && source.paths.empty())
      return damaged("its source of kind `" + source.kind + "` has no files");
    if (const std::string& type = source.type;
        !type.empty() && type != "uint16" && type != "uint32")
      return damaged("its token ids are of the unknown type `" + type + "`");
    return Status::ok();
  }

  Status blend(const DataSource& blend) const {
    const size_t count = blend.sources.size();
    if (count == 0 || blend.weights.size() != count ||
        blend.epochs.size() != count)
      return damaged("its blend of " + std::to_string(count) + " sources has " +
                     std::to_string(blend.weights.size()) + " weights and " +
                     std::to_string(blend.epochs.size()) +
                     " numbers of epochs");
    for (double weight : blend.weights)
      if (!(weight > 0) || !std::isfinite(weight))
        return damaged("its blend has a weight that is not above 0");
    for (double epochs : blend.epochs)
      if (!(epochs >= 0 && epochs <= maxSteps))
        return damaged("its blend has a number of epochs that is out of range");
    if (blend.stopping != "first_exhausted" &&
        blend.stopping != "all_exhausted")
      return damaged("an epoch of its blend ends by no known rule, " +
                     quoted(blend.stopping));
    for (const DataSource& each : blend.sources) {
      if (each.kind == "blend" || each.kind == "mock")
        return damaged("it blends a source of kind `" + each.kind + "`");
      RECIPERUN_TRY(source(each));
    }
    return Status::ok();
  }

  Status checkpoints() const {
    const Checkpoint& saved = plan.checkpoint;
    if (!isCount(saved.every) || !(saved.everySeconds >= 0) ||
        !isCount(saved.keepTop) || !isCount(saved.keepLast))
      return damaged("its numbers of checkpoints are out of range");
    if (saved.saves() && (saved.directory.empty() || saved.keepLast < 1))
      return damaged("it saves checkpoints and keeps none");
    if (saved.keepTop > 0 && !plan.data.valid)
      return damaged("it keeps the best checkpoints and validates none");
    return Status::ok();
  }

  Status learningRate(const LearningRate& rate) const {
    constexpr std::string_view kinds[] = {"constant", "linear", "cosine", "wsd",
                                          "inverse_sqrt"};
    constexpr std::string_view shapes[] = {"sqrt", "linear", "cosine"};
    auto isOneOf = [](std::string_view name, const auto& names) {
      return std::find(std::begin(names), std::end(names), name) !=
             std::end(names);
    };
    if (!isOneOf(rate.kind, kinds))
      return damaged("its learning rate is of no known kind, " +
                     quoted(rate.kind));
    if (rate.kind == "wsd" && !isOneOf(rate.shape, shapes))
      return damaged("its learning rate decays in no known shape, " +
                     quoted(rate.shape));
    auto isFraction = [](double part) { return part >= 0 && part <= 1; };
    if (!isCount(rate.warmup) || !isCount(rate.decay) ||
        !isFraction(rate.warmupFraction) || !isFraction(rate.decayFraction))
      return damaged("the lengths of its learning rate are out of range");
    return Status::ok();
  }

  const Plan& plan;
};

} // namespace

Status validateSettings(const Plan& plan) {
  return isServingTask(plan.task) ? Status::ok()
                                  : SettingsValidation(plan).run();
}

} // namespace reciperun::plan
