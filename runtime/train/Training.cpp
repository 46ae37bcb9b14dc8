// The loop, and what ends a run.
//
// A step: 1. host inputs: learning rate, step number, loss scale;
//         2. the schedule `train`, which loads its micro-batches;
//         3. loss and gradient norm are read and must be finite;
//         4. ranks share signals and peaks in one small all-reduce, so that all
//            of them stop behind the same step;
//         5. validation where it is due; rank 0 reports;
//         6. a checkpoint where it is due begins, and one that has begun goes
//         on.

#include "runtime/train/Training.h"

#include "runtime/plan/Mesh.h"
#include "runtime/train/Host.h"
#include "runtime/train/Schedule.h"
#include "runtime/train/StopSignal.h"

#include <chrono>
#include <cmath>

namespace reciperun::train {
namespace {

template <class T> void set(const exec::Tensor& tensor, T value) {
  if (tensor.present())
    *tensor.as<T>() = value;
}

/// What each place that counts weighs in the loss, their mean.
float lossScale(double weight) {
  return weight > 0 ? float(1.0 / weight) : 0.0f;
}

double secondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
      .count();
}

} // namespace

Expected<Outcome> Training::run() {
  Expected<Outcome> outcome = runSteps();
  if (!outcome || !saving)
    return outcome;
  // What is being saved is of a good step even where a later one has failed.
  Status finished = saving->finish();
  if (outcome->failure)
    outcome->failure = finished;
  tellNews();
  outcome->checkpoint = saving->published();
  return outcome;
}

Expected<Outcome> Training::runSteps() {
  RECIPERUN_TRY(shareState());
  int64_t step = start.step;
  for (; step < trainData->steps() && !signal; ++step) {
    Expected<StepRecord> record = trainStep(step);
    if (!record)
      return record.status();
    if (Status failure = stepFailure(*record); !failure)
      return Outcome{0, step, failure, {}};
    if (step == start.step && !options.gradients.empty())
      if (Status failure = dumpGradients(options.gradients); !failure)
        return Outcome{0, step, failure, {}};
    RECIPERUN_TRY(shareState());
    record->deviceBytes = peak;
    if (!signal && validatesAfter(step)) {
      Expected<std::optional<double>> loss = validate();
      if (!loss)
        return loss.status();
      record->validLoss = *loss;
    }
    if (isRoot()) {
      RECIPERUN_TRY(metrics->write(*record));
      progress->step(*record);
    }
    if (Status failure = saveAfter(*record); !failure)
      return Outcome{0, step + 1, failure, {}};
  }
  return Outcome{
      step < trainData->steps() ? signal : 0, step, Status::ok(), {}};
}

/// Goes on with the checkpoint in the making, and begins one where it is due.
/// Fails on all ranks with one message.
Status Training::saveAfter(const StepRecord& record) {
  if (!saving)
    return Status::ok();
  RECIPERUN_TRY(saving->proceed(reports));
  if (savesAfter(record.step - 1))
    RECIPERUN_TRY(saving->save(positionAfter(plan, *trainData, record.step),
                               record.validLoss));
  tellNews();
  return Status::ok();
}

void Training::tellNews() {
  std::string news = saving->takeNews();
  if (isRoot() && !news.empty())
    progress->line(news);
}

/// Where checkpoints are due, at the last step, and where a signal has ended
/// the run.
bool Training::savesAfter(int64_t step) const {
  return saving && (signal != 0 || step + 1 == trainData->steps() ||
                    saving->isDue(step + 1, reports));
}

Expected<StepRecord> Training::trainStep(int64_t step) {
  auto start = std::chrono::steady_clock::now();
  const plan::Inputs& in = plan.inputs;
  double rate = learningRate(plan.train.learningRate, step, trainData->steps());
  set(executor->tensor(in.learningRate), float(rate));
  set(executor->tensor(in.step), int32_t(step + 1));
  Expected<double> weight = trainData->weight(step);
  RECIPERUN_TRY(weight);
  set(executor->tensor(in.lossScale), lossScale(*weight));
  RECIPERUN_TRY(
      executor->run(*executor->findSchedule("train"), [&](int microBatch) {
        return load(*trainData, step, microBatch);
      }));
  StepRecord record;
  record.step = step + 1;
  record.epoch = trainData->epochsBefore(step + 1);
  record.loss = *executor->tensor(plan.outputs.loss).as<double>();
  if (exec::Tensor norm = executor->tensor(plan.outputs.normSquared);
      norm.present())
    record.gradNorm = std::sqrt(*norm.as<double>());
  if (exec::Tensor dropped = executor->tensor(plan.outputs.dropped);
      dropped.present())
    record.droppedShare = dropped.as<double>()[1] / dropped.as<double>()[0];
  record.learningRate = rate;
  record.samples = trainData->samplesBefore(step + 1);
  record.stepSeconds = secondsSince(start);
  record.tokensPerSecond =
      double(plan.train.globalBatch * plan.data.sequence) / record.stepSeconds;
  double flops =
      plan.prediction.flopsPerStep / communicator.ranks() / record.stepSeconds;
  record.tflopsPerRank = flops / 1e12;
  record.mfu =
      plan.prediction.peakFlops > 0 ? flops / plan.prediction.peakFlops : 0;
  return record;
}

Status Training::load(const data::Loader& loader, int64_t step,
                      int microBatch) {
  const plan::Inputs& in = plan.inputs;
  return loader.fill(step, microBatch,
                     {executor->tensor(in.tokens, microBatch).as<int32_t>(),
                      executor->tensor(in.labels, microBatch).as<int32_t>(),
                      executor->tensor(in.weights, microBatch).as<float>(),
                      executor->tensor(in.positions, microBatch).as<int32_t>(),
                      executor->tensor(in.segments, microBatch).as<int32_t>(),
                      executor->tensor(in.places, microBatch).as<int32_t>(),
                      executor->tensor(in.samples, microBatch).as<int64_t>()});
}

/// The same on all ranks, because loss and norm are.
Status Training::stepFailure(const StepRecord& record) const {
  const char* what = !std::isfinite(record.loss)       ? "the loss"
                     : !std::isfinite(record.gradNorm) ? "the gradient's norm"
                                                       : nullptr;
  if (!what)
    return Status::ok();
  double value = std::isfinite(record.loss) ? record.gradNorm : record.loss;
  return Status::error(std::string(what) + " is " + std::to_string(value) +
                       " at step " + std::to_string(record.step) +
                       " (learning rate " +
                       std::to_string(record.learningRate) +
                       "); nothing is exported: lower `optimizer.lr`, or "
                       "raise its warm-up");
}

bool Training::validatesAfter(int64_t step) const {
  if (!validData)
    return false;
  // The best checkpoints are those of the lowest validation loss.
  if (plan.checkpoint.keepTop > 0 && savesAfter(step))
    return true;
  int64_t every = plan.train.validateEvery;
  return step + 1 == trainData->steps() ||
         (every > 0 && (step + 1) % every == 0);
}

/// The mean over all places of the validation set that count; nothing when a
/// signal ended it. Batches enter in the order of the file.
Expected<std::optional<double>> Training::validate() {
  double total = 0, weights = 0;
  for (int64_t batch = 0; batch < validData->steps(); ++batch) {
    Expected<double> weight = validData->weight(batch);
    RECIPERUN_TRY(weight);
    set(executor->tensor(plan.inputs.lossScale), lossScale(*weight));
    RECIPERUN_TRY(
        executor->run(*executor->findSchedule("evaluate"), [&](int microBatch) {
          return load(*validData, batch, microBatch);
        }));
    total += *executor->tensor(plan.outputs.loss).as<double>() * *weight;
    weights += *weight;
    RECIPERUN_TRY(shareState());
    if (signal)
      return std::optional<double>();
    if (isRoot())
      progress->validating(batch + 1, validData->steps());
  }
  if (weights == 0)
    return std::optional<double>();
  return std::optional<double>(total / weights);
}

/// Ranks learn the largest signal number and peak of all of them, and how far
/// they are with a checkpoint.
Status Training::shareState() {
  Saving::Report mine = saving ? saving->report() : Saving::Report();
  int64_t state[] = {stopSignal(), peakBytes(), mine.progress, mine.timeIsUp};
  const int64_t shape[] = {std::size(state)};
  exec::Tensor view{state, plan::DType::i64, shape};
  RECIPERUN_TRY(
      communicator.allReduce(comm::world, view, view, comm::Reduction::max));
  signal = int(state[0]);
  peak = state[1];
  reports = {state[2], state[3]};
  return Status::ok();
}

} // namespace reciperun::train
