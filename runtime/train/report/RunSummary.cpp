// See RunSummary.h.

#include "runtime/train/report/RunSummary.h"

#include <algorithm>
#include <cmath>

namespace reciperun::train {
namespace {

void takeLowest(const std::optional<double>& value, int64_t step,
                std::optional<AtStep>& last, std::optional<AtStep>& best) {
  if (!value)
    return;
  last = AtStep{step, *value};
  if (!best || *value < best->value)
    best = last;
}

/// The value that the share `part` of the sorted values does not exceed
/// (nearest rank).
double percentileOf(const std::vector<AtStep>& sorted, double part) {
  const double rank = std::ceil(part * double(sorted.size()));
  return sorted[size_t(std::max(rank, 1.0)) - 1].value;
}

void addStepTimes(const RunFolder& run, size_t slowSteps, RunSummary& made) {
  std::vector<AtStep> times;
  double timedTokens = 0, tokenSeconds = 0, mfuSeconds = 0, busySeconds = 0;
  for (const MetricsRow& row : run.rows) {
    if (!row.stepSeconds)
      continue;
    times.push_back({row.step, *row.stepSeconds});
    made.stepSeconds += *row.stepSeconds;
    if (row.tokensPerSecond) {
      timedTokens += *row.tokensPerSecond * *row.stepSeconds;
      tokenSeconds += *row.stepSeconds;
    }
    if (row.mfu) {
      busySeconds += *row.mfu * *row.stepSeconds;
      mfuSeconds += *row.stepSeconds;
    }
  }
  made.tokens = timedTokens;
  if (tokenSeconds > 0)
    made.tokensPerSecond = timedTokens / tokenSeconds;
  if (mfuSeconds > 0)
    made.mfu = busySeconds / mfuSeconds;
  if (times.empty())
    return;
  std::ranges::stable_sort(times, {}, &AtStep::value);
  made.median = percentileOf(times, 0.5);
  made.percentile95 = percentileOf(times, 0.95);
  std::ranges::reverse(times);
  times.resize(std::min(times.size(), slowSteps));
  made.slowest = std::move(times);
}

void addEvents(const RunFolder& run, RunSummary& made) {
  for (const RunEvent& event : run.events) {
    made.restarts += event.kind == "resume";
    made.checkpoints += event.kind == "checkpoint";
    made.spikes += event.kind == "spike";
    made.stragglers += event.kind == "straggler";
  }
  if (run.events.empty())
    return;
  double last = run.events.back().time;
  last = std::max(last, run.rows.back().time.value_or(last));
  const double passed = last - run.events.front().time;
  if (!(passed > 0))
    return;
  made.duration = passed;
  made.goodput = std::min(made.stepSeconds / passed, 1.0);
}

} // namespace

RunSummary summaryOf(const RunFolder& run, size_t slowSteps) {
  RunSummary made;
  made.steps = int64_t(run.rows.size());
  made.lastStep = run.rows.back().step;
  made.samples = run.rows.back().samples;
  for (const MetricsRow& row : run.rows) {
    takeLowest(row.loss, row.step, made.lastLoss, made.bestLoss);
    takeLowest(row.validLoss, row.step, made.lastValidLoss, made.bestValidLoss);
    if (row.deviceBytes)
      made.peakBytes = std::max(made.peakBytes.value_or(0), *row.deviceBytes);
    for (size_t i = 0; i < phaseNames.size(); ++i)
      made.phases[i] += row.phases[i];
    made.saving += row.saving;
  }
  addStepTimes(run, slowSteps, made);
  addEvents(run, made);
  return made;
}

} // namespace reciperun::train
