// The training loop.
//
// A step:
// 1. Set the host inputs: learning rate, step number, loss scale.
// 2. Run the schedule `train`, which loads its micro-batches. The host waits
//    for the device once, after it has launched everything.
// 3. Read loss and gradient norm, which must be finite: see BadSteps.h.
// 4. Share signals, peaks and times in one small all-reduce, so that all ranks
//    stop after the same step.
// 5. Validate if due; rank 0 reports.
// 6. Start a checkpoint if due, and advance one in progress.

#include "runtime/train/Training.h"

#include "runtime/base/StopSignal.h"
#include "runtime/plan/Mesh.h"
#include "runtime/train/BadSteps.h"
#include "runtime/train/Host.h"
#include "runtime/train/Schedule.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <numeric>
#include <utility>

namespace reciperun::train {
namespace {

using Clock = std::chrono::steady_clock;

/// How far a rank on a GPU may fall behind the others in a step, in addition to
/// two steps: for example while it reads a batch.
constexpr std::chrono::seconds mostBehind(20);

double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

} // namespace

Expected<Outcome> Training::run() {
  Expected<Outcome> outcome = runSteps();
  if (!outcome)
    return outcome;
  if (saving) {
    // A checkpoint in progress holds a good step, even if a later one failed.
    Status finished = saving->finish();
    if (outcome->failure.isOk())
      outcome->failure = finished;
    const Status told = communicator.agree(tellNews());
    if (outcome->failure.isOk())
      outcome->failure = told;
    outcome->checkpoint = saving->published();
  }
  recordEnd(*outcome);
  return outcome;
}

/// Records how the run ended. A file that cannot be written is no new failure:
/// the run has ended.
void Training::recordEnd(const Outcome& outcome) {
  if (!isRoot())
    return;
  const bool failed = !outcome.failure.isOk();
  const char* const reason = failed           ? "failure"
                             : outcome.signal ? "signal"
                                              : "complete";
  const std::string message = failed           ? outcome.failure.message()
                              : outcome.signal ? strsignal(outcome.signal)
                                               : std::string();
  if (recorder->takeEnd(outcome.steps, reason, message).isOk())
    (void)recorder->wait();
}

Expected<Outcome> Training::runSteps() {
  // Prepares values computed from weights that no step changes.
  if (const plan::Schedule* once = executor->findSchedule("prepare"))
    RECIPERUN_TRY(executor->run(*once, [](int) { return Status::ok(); }));
  RECIPERUN_TRY(shareState());
  BadSteps badSteps(plan, device, communicator, *executor, *buffers,
                    *sets.train);
  hostClock.start();
  int64_t step = start.step;
  for (; step < sets.train->steps() && !signal; ++step) {
    std::optional<comm::Watch::Pace> pace;
    pace.emplace(communicator.host().watch(), paceOf(step));
    Expected<StepRecord> record = trainStep(step);
    RECIPERUN_TRY(record);
    if (profiling.endsAfter(step)) {
      pace.reset(); // some ranks write files while the others wait
      if (Status failure = writeTraces(); !failure.isOk())
        return Outcome{0, {}, step + 1, failure, {}};
      pace.emplace(communicator.host().watch(), paceOf(step));
    }
    if (!record->isFinite()) {
      pace.reset(); // the search takes longer on some ranks
      if (isRoot())
        recorder->takeBad(*record);
      Expected<std::string> complaint = badSteps.nonFinite(*record);
      RECIPERUN_TRY(complaint);
      return Outcome{0, {}, step, giveUp(*complaint), {}};
    }
    if (step == start.step && !options.gradients.empty())
      if (Status failure = dumpGradients(options.gradients); !failure.isOk())
        return Outcome{0, {}, step, failure, {}};
    RECIPERUN_TRY(shareState());
    addTimes(*record);
    bool isOver = isSpike && plan.train.spikeStops;
    if (!signal && !isOver) {
      Expected<std::optional<Validation>> validation = validateAfter(step);
      RECIPERUN_TRY(validation);
      if (*validation)
        record->validLoss = (*validation)->loss;
      if (!std::isfinite(record->validLoss.value_or(0))) {
        pace.reset();
        return Outcome{
            0, {}, step, giveUp(BadSteps::nonFiniteValidation(*record)), {}};
      }
    }
    tellNotes();
    RECIPERUN_TRY(tellStragglers(*record));
    RECIPERUN_TRY(tellSpotNotice(*record));
    if (isRoot()) {
      RECIPERUN_TRY(recorder->take(*record));
      progress->step(*record);
      if (usualLoss)
        RECIPERUN_TRY(recorder->takeSpike(*record, *usualLoss));
      if (usualLoss && !isOver)
        progress->line("warning: " + badSteps.spike(*record, *usualLoss));
    }
    pace.reset();
    if (isOver) {
      const std::string complaint =
          usualLoss ? badSteps.spike(*record, *usualLoss) : std::string();
      return Outcome{0, {}, step + 1, giveUp(complaint), {}};
    }
    auto begin = Clock::now();
    hostClock.stop();
    if (Status failure = saveAfter(*record); !failure.isOk())
      return Outcome{0, {}, step + 1, failure, {}};
    RECIPERUN_TRY(tellNews());
    hostClock.start();
    times.saving = secondsSince(begin);
  }
  return Outcome{step < sets.train->steps() ? signal : 0,
                 spotNotice,
                 step,
                 waitForMetrics(),
                 {}};
}

/// Advances the checkpoint in progress, and starts one if it is due. Fails on
/// all ranks with one message.
Status Training::saveAfter(const StepRecord& record) {
  if (!saving)
    return Status::ok();
  RECIPERUN_TRY(saving->proceed(reports));
  if (savesAfter(record.step - 1)) {
    RECIPERUN_TRY(waitForMetrics()); // a run that resumes here reads them
    RECIPERUN_TRY(saving->save(positionAfter(plan, *sets.train, record.step),
                               record.validLoss));
  }
  return Status::ok();
}

/// Waits until rank 0's metrics file is complete. Fails on all ranks.
Status Training::waitForMetrics() {
  return communicator.agree(isRoot() ? recorder->wait() : Status::ok());
}

/// Ends the run: completes the checkpoint in progress, which holds a good step,
/// and tells how to continue. Collective.
Status Training::giveUp(const std::string& complaint) {
  Status finished = saving ? saving->finish() : Status::ok();
  if (Status told = tellNews(); finished.isOk())
    finished = told;
  std::string last =
      saving && !saving->published().empty() ? saving->published() : resumed;
  return Status::error(
      complaint +
      "; nothing of this step is kept: lower `optimizer.lr`, raise its "
      "warm-up, or give the step other rows with `data.seed`" +
      (last.empty() ? "" : ", and go on from `" + last + "`") +
      (finished.isOk()
           ? ""
           : "; nor is the checkpoint before: " + finished.message()));
}

/// Prints and records what was saved.
Status Training::tellNews() {
  if (!saving)
    return Status::ok();
  const std::string news = saving->takeNews();
  const std::optional<SavedCheckpoint> saved = saving->takeSaved();
  if (!isRoot())
    return Status::ok();
  if (!news.empty())
    progress->line(news);
  return saved ? recorder->take(*saved) : Status::ok();
}

/// Whether to save after a step: when a checkpoint is due, at the last step,
/// and when a signal ended the run.
bool Training::savesAfter(int64_t step) const {
  return saving && (signal != 0 || step + 1 == sets.train->steps() ||
                    saving->isDue(step + 1, reports));
}

/// The limit on how far ranks may fall behind each other. It applies on GPUs
/// once the first steps are done. A rank computes for at most one step without
/// communication.
std::optional<comm::Watch::Duration> Training::paceOf(int64_t step) const {
  if (device.isHost() || step < start.step + warmUpSteps)
    return std::nullopt;
  return mostBehind + std::chrono::duration_cast<comm::Watch::Duration>(
                          std::chrono::duration<double>(2 * longest.step));
}

Expected<StepRecord> Training::trainStep(int64_t step) {
  beginProfiling(step);
  exec::Observer& observer = profiling.observerOf(step);
  const double between = hostClock.takePassed();
  clock.start();
  profiling.startStep(step);
  RECIPERUN_TRY(setInputs(step));
  clock.mark(Phase::data);
  executor->setObserver(&observer);
  Status ran =
      executor->run(*executor->findSchedule("train"), [&](int microBatch) {
        return buffers->load(*sets.train, step, microBatch);
      });
  executor->setObserver(nullptr);
  RECIPERUN_TRY(ran);
  clock.stop();
  hostClock.stop();
  RECIPERUN_TRY(executor->wait());
  hostClock.start();
  hostClock.takePassed(); // the device was busy in this time
  times.phases = clock.seconds();
  times.phases[size_t(Phase::other)] += between;
  times.step = std::accumulate(times.phases.begin(), times.phases.end(), 0.0);
  if (stragglers && step >= start.step + warmUpSteps)
    stragglers->add(times.phases);
  Expected<StepRecord> record = buffers->readOutputs();
  RECIPERUN_TRY(record);
  record->step = step + 1;
  record->epoch = sets.train->epochsBefore(step + 1);
  if (norms) {
    auto measured = norms->measure(*executor, communicator);
    RECIPERUN_TRY(measured);
    record->gradNorms = std::move(*measured);
  }
  record->learningRate =
      learningRate(plan.train.learningRate, step, sets.train->steps());
  record->samples = sets.train->samplesBefore(step + 1);
  for (const data::SourceRows& source : sets.train->sourcesBefore(step + 1))
    record->sourceSamples.push_back(source.rows);
  if (isRoot())
    usualLoss = spikes.take(record->loss);
  times.host = hostClock.takeComputed();
  hostClock.stop();
  profiling.takeStep(step, observer, times);
  if (profiling.timesOps() && isRoot() && step == start.step) {
    startTimes.mark("first step");
    progress->line(startTimes.text());
  }
  hostClock.start();
  return record;
}

/// Begins the trace of `--profile` if it starts at this step.
void Training::beginProfiling(int64_t step) {
  hostClock.stop();
  const std::string note = profiling.beginStep(step);
  hostClock.start();
  if (isRoot() && !note.empty())
    progress->line("note: " + note);
}

/// Writes the traces after the last profiled step. Fails on all ranks.
Status Training::writeTraces() {
  const std::filesystem::path folder =
      std::filesystem::path(plan.train.directory) / "profile";
  hostClock.stop();
  RECIPERUN_TRY(communicator.agree(profiling.write(folder)));
  hostClock.start();
  if (isRoot())
    progress->line(profiling.textOfTraces(folder));
  return Status::ok();
}

/// Sets the inputs of a step that are not per micro-batch.
Status Training::setInputs(int64_t step) {
  Expected<double> weight = sets.train->weight(step);
  RECIPERUN_TRY(weight);
  return buffers->setInputs(
      learningRate(plan.train.learningRate, step, sets.train->steps()), step,
      *weight);
}

/// Adds the times and other values that are combined over all ranks to the
/// record.
void Training::addTimes(StepRecord& record) const {
  record.time = epochSeconds();
  record.times = longest;
  if (!device.isHost())
    record.hostSeconds = longest.host;
  record.deviceBytes = peak;
  record.tokensPerSecond =
      double(plan.train.globalBatch * plan.data.sequence) / longest.step;
  double flops =
      plan.prediction.flopsPerStep / communicator.ranks() / longest.step;
  record.tflopsPerRank = flops / 1e12;
  if (plan.prediction.peakFlops > 0)
    record.mfu = flops / plan.prediction.peakFlops;
}

/// Validates after a step; nullopt when no validation is due. The time is not
/// counted as part of a step.
Expected<std::optional<Validation>> Training::validateAfter(int64_t step) {
  if (!validatesAfter(step))
    return std::optional<Validation>();
  hostClock.stop();
  Expected<std::optional<Validation>> validation = validate();
  hostClock.start();
  return validation;
}

/// Prints the executor's notes since the last call.
void Training::tellNotes() {
  for (const std::string& note : executor->takeNotes())
    if (isRoot())
      progress->line("note: " + note);
}

/// Reports ranks whose work takes longer than that of others, and those that
/// have caught up, once a window of steps.
Status Training::tellStragglers(const StepRecord& record) {
  const std::optional<RankTimes> window = std::exchange(rankTimes, {});
  if (!isRoot() || !window)
    return Status::ok();
  recorder->take(*window);
  const StragglerDetector::Changes changes = stragglers->changesBy(*window);
  for (const RankTime& each : changes.recovered)
    progress->line("note: rank " + std::to_string(each.rank) + " (" +
                   textOf(each.place) +
                   ") is no longer slower than the others");
  for (const RankTime& each : changes.slow) {
    const std::string text = stragglerText(each, stragglers->window());
    progress->line("warning: " + text);
    RECIPERUN_TRY(recorder->takeStraggler(record, each, text));
  }
  return Status::ok();
}

/// Tells all ranks of the notice that some of them have. Collective.
Status Training::shareSpotNotice() {
  const std::string mine = spotWatch ? spotWatch->notice() : std::string();
  spotNotice =
      communicator.agree(mine.empty() ? Status::ok() : Status::error(mine))
          .message();
  return Status::ok();
}

/// Reports a notice of the cloud, after which the run ends.
Status Training::tellSpotNotice(const StepRecord& record) {
  if (!isRoot() || spotNotice.empty())
    return Status::ok();
  progress->line("warning: " + spotNotice + "; the run ends after step " +
                 std::to_string(record.step));
  return recorder->takeSpotNotice(record, spotNotice);
}

bool Training::validatesAfter(int64_t step) const {
  if (!sets.valid)
    return false;
  // The best checkpoints have the lowest validation loss.
  if (plan.checkpoint.keepTop > 0 && savesAfter(step))
    return true;
  int64_t every = plan.train.validateEvery;
  return step + 1 == sets.train->steps() ||
         (every > 0 && (step + 1) % every == 0);
}

/// The mean loss over all counted tokens of the validation set, summed in the
/// order of the file; nullopt when a signal ended it or no token counts.
Expected<std::optional<Validation>> Training::validate() {
  Validation sum;
  for (int64_t batch = 0; batch < sets.valid->steps(); ++batch) {
    Expected<double> weight = sets.valid->weight(batch);
    RECIPERUN_TRY(weight);
    RECIPERUN_TRY(buffers->setLossScale(*weight));
    RECIPERUN_TRY(
        executor->run(*executor->findSchedule("evaluate"), [&](int microBatch) {
          return buffers->load(*sets.valid, batch, microBatch);
        }));
    RECIPERUN_TRY(executor->wait());
    Expected<double> loss = buffers->readLoss();
    RECIPERUN_TRY(loss);
    sum.loss += *loss * *weight;
    sum.weight += *weight;
    RECIPERUN_TRY(shareState());
    if (signal)
      return std::optional<Validation>();
    if (isRoot())
      progress->validating(batch + 1, sets.valid->steps());
  }
  if (sum.weight == 0)
    return std::optional<Validation>();
  sum.loss /= sum.weight;
  return std::optional<Validation>(sum);
}

/// Shares state by maximum over all ranks: signal, peak memory, times, progress
/// of a checkpoint, rank 0's verdict on the loss, notices of the cloud, and the
/// work of each rank in a window of steps.
Status Training::shareState() {
  Saving::Report mine = saving ? saving->report() : Saving::Report();
  const bool isNoticed = spotWatch && !spotWatch->notice().empty();
  std::vector<int64_t> state = {isNoticed ? SIGUSR1 : stopSignal(),
                                takenBytes(),
                                mine.progress,
                                mine.timeIsUp,
                                isNoticed,
                                usualLoss.has_value()};
  const size_t first = state.size();
  auto add = [&](double seconds) { state.push_back(int64_t(seconds * 1e9)); };
  std::for_each(times.phases.begin(), times.phases.end(), add);
  add(times.step);
  add(times.host);
  add(times.saving);
  const bool sharesWork = stragglers && stragglers->isDue();
  if (sharesWork)
    stragglers->appendTo(state);
  const int64_t shape[] = {int64_t(state.size())};
  exec::Tensor view{state.data(), plan::DType::i64, shape};
  RECIPERUN_TRY(communicator.host().allReduce(comm::world, view, view,
                                              comm::Reduction::max));
  signal = int(state[0]);
  peak = state[1];
  reports = {state[2], state[3]};
  const bool hasNotice = state[4] != 0;
  isSpike = state[5] != 0;
  const int64_t* shared = &state[first];
  for (double& seconds : longest.phases)
    seconds = double(*shared++) / 1e9;
  longest.step = double(*shared++) / 1e9;
  longest.host = double(*shared++) / 1e9;
  longest.saving = double(*shared++) / 1e9;
  if (sharesWork)
    rankTimes = stragglers->takeWindow(shared);
  return hasNotice && spotNotice.empty() ? shareSpotNotice() : Status::ok();
}

} // namespace reciperun::train
