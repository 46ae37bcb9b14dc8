// See TrainMetrics.h.

#include "runtime/train/metrics/TrainMetrics.h"

#include "runtime/metrics/MetricFamilies.h"
#include "runtime/plan/Mesh.h"

#include <prometheus/histogram.h>

#include <utility>

namespace reciperun::train {
namespace {

using metrics::MetricFamilies;
using prometheus::Labels;

/// Of a step in seconds: six a decade, from a small model on one GPU to the
/// steps of a large batch.
const prometheus::Histogram::BucketBoundaries stepBuckets = {
    0.001, 0.0015, 0.002, 0.003, 0.005, 0.007, 0.01, 0.015, 0.02,
    0.03,  0.05,   0.07,  0.1,   0.15,  0.2,   0.3,  0.5,   0.7,
    1,     1.5,    2,     3,     5,     7,     10,   15,    20,
    30,    50,     70,    100,   150,   200,   300};

/// A gauge of the last step.
struct RecordGauge {
  const char* name;
  const char* help;
  /// nullopt: there is no such value.
  std::optional<double> (*read)(const StepRecord& record);
};

constexpr RecordGauge recordGauges[] = {
    {"recipec_train_step",
     "Steps that the run has done, with those before it "
     "was resumed.",
     [](const StepRecord& r) -> std::optional<double> { return r.step; }},
    {"recipec_train_epoch", "Epochs of the data that the run has done.",
     [](const StepRecord& r) -> std::optional<double> { return r.epoch; }},
    {"recipec_train_loss", "Mean loss of the last step in nats a token.",
     [](const StepRecord& r) -> std::optional<double> { return r.loss; }},
    {"recipec_train_further_loss",
     "Mean loss of the last step for the tokens after the next ones.",
     [](const StepRecord& r) { return r.furtherLoss; }},
    {"recipec_train_learning_rate", "Learning rate of the last step.",
     [](const StepRecord& r) -> std::optional<double> {
       return r.learningRate;
     }},
    {"recipec_train_gradient_norm",
     "Norm of the gradient of the last step, before clipping.",
     [](const StepRecord& r) -> std::optional<double> { return r.gradNorm; }},
    {"recipec_train_tokens_per_second",
     "Throughput of the whole job in the last step, with padding.",
     [](const StepRecord& r) -> std::optional<double> {
       return r.tokensPerSecond;
     }},
    {"recipec_train_rank_flops_per_second",
     "Floating-point operations of the model that a rank does in a second, in "
     "the last step.",
     [](const StepRecord& r) -> std::optional<double> {
       return r.tflopsPerRank * 1e12;
     }},
    {"recipec_train_mfu_ratio",
     "Model FLOPs utilization of the last step, from 0 to 1.",
     [](const StepRecord& r) { return r.mfu; }},
    {"recipec_train_device_memory_bytes",
     "Peak memory of the rank that has taken most.",
     [](const StepRecord& r) -> std::optional<double> {
       return r.deviceBytes;
     }},
    {"recipec_train_dropped_ratio",
     "Share of the expert choices of the last step that were dropped for lack "
     "of capacity.",
     [](const StepRecord& r) { return r.droppedShare; }},
    {"recipec_train_overflow_ratio",
     "Share of the rows sent to the ranks of their experts in the last step "
     "that did not fit there.",
     [](const StepRecord& r) { return r.overflowShare; }},
};

} // namespace

/// The values of this process, other than the histogram.
struct TrainMetrics::State {
  RunPosition position;             // where it began
  std::optional<StepRecord> record; // of the last step
  int64_t steps = 0, samples = 0;   // done by this process
  PhaseSeconds phases = {};         // sums
  double saving = 0;
  std::optional<double> validLoss, goodput;
  int64_t spikes = 0, stragglers = 0, checkpoints = 0;
  RankTimes ranks;                      // of the last window
  std::optional<SavedCheckpoint> saved; // the last one
  double savedTime = 0;

  void addCounters(const RunFacts& facts, MetricFamilies& families) const;
  void addPosition(const Labels& labels, MetricFamilies& families) const;
  void addCheckpoints(const RunFacts& facts, MetricFamilies& families) const;
  void addRanks(const RunFacts& facts, MetricFamilies& families) const;
};

RunFacts factsOf(const plan::Plan& plan, const std::string& hardware) {
  RunFacts facts;
  facts.recipe = plan.name;
  facts.info = {{"recipe", plan.name},
                {"task", plan.task},
                {"layout", plan::layoutText(plan.mesh)},
                {"ranks", std::to_string(plan.mesh.ranks)},
                {"device", plan.device},
                {"hardware", hardware},
                {"version", RECIPERUN_VERSION}};
  facts.stepTokens = plan.train.globalBatch * plan.data.sequence;
  facts.checkpointSteps = plan.checkpoint.every;
  facts.checkpointSeconds = plan.checkpoint.everySeconds;
  facts.startTime = epochSeconds();
  return facts;
}

TrainMetrics::TrainMetrics(RunFacts facts)
    : facts(std::move(facts)),
      stepSeconds(std::make_unique<prometheus::Histogram>(stepBuckets)),
      state(std::make_unique<State>()) {}

TrainMetrics::~TrainMetrics() = default;

void TrainMetrics::begin(const RunPosition& position) {
  const std::lock_guard lock(mutex);
  state->position = position;
}

void TrainMetrics::take(const StepRecord& record, double goodput) {
  stepSeconds->Observe(record.times.step);
  const std::lock_guard lock(mutex);
  const int64_t before =
      state->record ? state->record->samples : state->position.samples;
  ++state->steps;
  state->samples += record.samples - before;
  for (size_t i = 0; i < phaseNames.size(); ++i)
    state->phases[i] += record.times.phases[i];
  state->saving += record.times.saving;
  if (record.validLoss)
    state->validLoss = record.validLoss;
  state->goodput = goodput;
  state->record = record;
}

void TrainMetrics::takeBad(const StepRecord& record) {
  const std::lock_guard lock(mutex);
  StepRecord& last = state->record ? *state->record : state->record.emplace();
  last.loss = record.loss;
  last.gradNorm = record.gradNorm;
}

void TrainMetrics::countSpike() {
  const std::lock_guard lock(mutex);
  ++state->spikes;
}

void TrainMetrics::take(const RankTimes& times) {
  const std::lock_guard lock(mutex);
  state->ranks = times;
}

void TrainMetrics::countStraggler() {
  const std::lock_guard lock(mutex);
  ++state->stragglers;
}

void TrainMetrics::take(const SavedCheckpoint& saved, double time) {
  const std::lock_guard lock(mutex);
  ++state->checkpoints;
  state->saved = saved;
  state->savedTime = time;
}

TrainMetrics::State TrainMetrics::copyState() const {
  const std::lock_guard lock(mutex);
  return *state;
}

void TrainMetrics::State::addCounters(const RunFacts& facts,
                                      MetricFamilies& families) const {
  const Labels labels = {{"recipe", facts.recipe}};
  families.addCounter("recipec_train_steps_total",
                      "Steps since the start of the process.", labels,
                      double(steps));
  families.addCounter("recipec_train_tokens_total",
                      "Tokens since the start of the process, with padding.",
                      labels, double(steps * facts.stepTokens));
  families.addCounter("recipec_train_samples_total",
                      "Samples since the start of the process.", labels,
                      double(samples));
  for (size_t i = 0; i < phaseNames.size(); ++i)
    families.addCounter("recipec_train_phase_seconds_total",
                        "Time of steps by phase since the start of the "
                        "process, the longest of the ranks.",
                        {{"recipe", facts.recipe}, {"phase", phaseNames[i]}},
                        phases[i]);
  families.addCounter("recipec_train_spikes_total",
                      "Steps whose loss was a spike (train.spike) since the "
                      "start of the process.",
                      labels, double(spikes));
  families.addCounter("recipec_train_stragglers_total",
                      "Ranks that became slower than the others "
                      "(train.straggler) since the start of the process.",
                      labels, double(stragglers));
}

void TrainMetrics::State::addRanks(const RunFacts& facts,
                                   MetricFamilies& families) const {
  for (const RankTime& each : ranks) {
    Labels labels = {{"recipe", facts.recipe},
                     {"rank", std::to_string(each.rank)},
                     {"host", each.place.host}};
    if (!each.place.gpu.empty())
      labels.emplace("gpu", each.place.gpu);
    families.addGauge("recipec_train_rank_work_seconds",
                      "Time of a step in which a rank works and does not wait "
                      "for others, in the last window of steps.",
                      labels, each.seconds);
    families.addGauge("recipec_train_rank_slowdown_ratio",
                      "The same as a multiple of the median of the ranks of "
                      "the pipeline stage.",
                      labels, each.ratio);
  }
}

void TrainMetrics::State::addPosition(const Labels& labels,
                                      MetricFamilies& families) const {
  families.addCounter("recipec_train_restarts_total",
                      "Times that the run was resumed from a checkpoint.",
                      labels, double(position.restarts));
  if (position.steps > 0)
    families.addGauge("recipec_train_planned_steps",
                      "Steps that the run does in all.", labels,
                      double(position.steps));
  if (validLoss)
    families.addGauge("recipec_train_valid_loss",
                      "Mean loss of the last validation in nats a token.",
                      labels, *validLoss);
  if (goodput)
    families.addGauge("recipec_train_goodput_ratio",
                      "Time of the steps that count, as a share of the time "
                      "since the first start of the run.",
                      labels, *goodput);
}

void TrainMetrics::State::addCheckpoints(const RunFacts& facts,
                                         MetricFamilies& families) const {
  const Labels labels = {{"recipe", facts.recipe}};
  families.addCounter("recipec_train_checkpoints_total",
                      "Checkpoints saved since the start of the process.",
                      labels, double(checkpoints));
  families.addCounter("recipec_train_checkpoint_blocked_seconds_total",
                      "Time that checkpoints have blocked the ranks since the "
                      "start of the process.",
                      labels, saving);
  if (facts.checkpointSteps > 0)
    families.addGauge("recipec_train_checkpoint_interval_steps",
                      "Steps from one checkpoint to the next.", labels,
                      double(facts.checkpointSteps));
  if (facts.checkpointSeconds > 0)
    families.addGauge("recipec_train_checkpoint_interval_seconds",
                      "Time from one checkpoint to the next.", labels,
                      facts.checkpointSeconds);
  if (!saved)
    return;
  families.addGauge("recipec_train_checkpoint_last_step",
                    "Step of the last checkpoint that this process saved.",
                    labels, double(saved->step));
  families.addGauge("recipec_train_checkpoint_save_seconds",
                    "Time that the last checkpoint took, beside the steps "
                    "that ran meanwhile.",
                    labels, saved->seconds);
  families.addGauge("recipec_train_checkpoint_timestamp_seconds",
                    "When the last checkpoint was complete, since 1970.",
                    labels, savedTime);
}

std::string TrainMetrics::text() const {
  const State now = copyState();
  const Labels labels = {{"recipe", facts.recipe}};
  MetricFamilies families;
  families.addGauge("recipec_train_info", "1; its labels describe the run.",
                    Labels(facts.info.begin(), facts.info.end()), 1);
  families.addGauge("recipec_train_start_time_seconds",
                    "When the process started, since 1970.", labels,
                    facts.startTime);
  now.addPosition(labels, families);
  now.addCounters(facts, families);
  families.add("recipec_train_step_seconds", "Time of a step.",
               prometheus::MetricType::Histogram, labels,
               stepSeconds->Collect());
  if (now.record)
    for (const RecordGauge& gauge : recordGauges)
      if (const std::optional<double> value = gauge.read(*now.record))
        families.addGauge(gauge.name, gauge.help, labels, *value);
  now.addRanks(facts, families);
  now.addCheckpoints(facts, families);
  return metrics::textOf(families.take());
}

} // namespace reciperun::train
