// See StartReport.h.

#include "runtime/train/StartReport.h"

#include "runtime/base/Text.h"
#include "runtime/plan/Mesh.h"
#include "runtime/train/Schedule.h"

#include <cstdio>

namespace reciperun::train {
namespace {

/// `1 step`, `2 steps`.
std::string counted(int64_t number, const std::string& noun) {
  return std::to_string(number) + " " + noun + (number == 1 ? "" : "s");
}

/// `1 rank`, `4 ranks (dp 2 x tp 2)`.
std::string meshText(const plan::Mesh& mesh) {
  if (mesh.ranks == 1)
    return "1 rank";
  return counted(mesh.ranks, "rank") + " (" + plan::layoutText(mesh) + ")";
}

} // namespace

std::vector<std::string> StartReport::lines() const {
  Lines lines = {plan.name + ": " + plan.task + " on " + meshText(plan.mesh) +
                     " on " + plan.device + ", " + device.name() + " a rank",
                 modelText()};
  addData(lines);
  addFolder(lines);
  for (const std::string& note : device.notes())
    lines.push_back("note: " + note);
  addMemory(lines);
  if (start.resumes())
    addResumed(lines);
  return lines;
}

std::vector<std::string> StartReport::linesOfFallBack() const {
  Lines lines = {weightsText()};
  addResumed(lines);
  return lines;
}

std::string StartReport::damagedText(int64_t step,
                                     const std::string& reason) const {
  return "checkpoint `" + checkpoints.checkpoint(step).string() +
         "` is damaged and passed over: " + reason;
}

std::string StartReport::modelText() const {
  int64_t parameters = 0, trainable = 0;
  for (const plan::Parameter& parameter : plan.parameters) {
    const int64_t count = plan::elementCount(parameter.globalShape);
    parameters += count;
    trainable += parameter.trainable ? count : 0;
  }
  return "model: " + std::to_string(parameters) + " parameters, " +
         std::to_string(trainable) + " of them trained, " + weightsText();
}

std::string StartReport::weightsText() const {
  if (!start.source)
    return start.directory.empty() ? "random weights"
                                   : "weights from `" + start.directory + "`";
  const std::string path = "`" + start.source->path().string() + "`";
  if (!start.resumes())
    return "weights from " + path;
  return "resumed from " + path + " after step " + std::to_string(start.step) +
         " (" + std::to_string(start.source->manifest().position.samples) +
         " samples)";
}

/// The learning rate of the next step. It depends only on the recipe of this
/// run.
std::string StartReport::learningRateText() const {
  const plan::LearningRate& rate = plan.train.learningRate;
  char text[160];
  std::snprintf(
      text, sizeof text,
      "learning rate: `%s` of this recipe, from step %lld of %lld on: "
      "%.4g",
      rate.kind.c_str(), static_cast<long long>(start.step + 1),
      static_cast<long long>(sets.train->steps()),
      learningRate(rate, start.step, sets.train->steps()));
  return text;
}

void StartReport::addData(Lines& lines) const {
  const int64_t steps = sets.train->steps();
  lines.push_back("data: " + sets.train->extent() + " of " +
                  std::to_string(plan.data.sequence) + " tokens; " +
                  counted(steps, "step") + " of " +
                  counted(plan.train.globalBatch, "row"));
  // The compiler has already warned when the recipe states the number of steps.
  const std::string doubt = plan.train.steps > 0
                                ? std::string()
                                : scheduleDoubt(plan.train.learningRate, steps);
  if (!doubt.empty())
    lines.push_back("warning: " + doubt);
  for (const auto* loader : {&sets.train, &sets.valid})
    if (*loader)
      for (const std::string& note : (*loader)->notes())
        lines.push_back("note: " + note);
  for (const std::string& note : sets.tokenizerNotes())
    lines.push_back("note: " + note);
}

/// Warnings about the folder of checkpoints.
void StartReport::addFolder(Lines& lines) const {
  for (const checkpoint::FolderLock& lock : locks)
    if (!lock.note().empty())
      lines.push_back("warning: " + lock.note());
  using checkpoint::Condition;
  for (const auto& fault : checkpoints.faults())
    lines.push_back("warning: " +
                    (fault.condition == Condition::damaged
                         ? damagedText(fault.step, fault.reason)
                         : "checkpoint `" +
                               checkpoints.checkpoint(fault.step).string() +
                               "` cannot be read: " + fault.reason));
}

void StartReport::addMemory(Lines& lines) const {
  lines.push_back("memory: " + bytesText(predicted) +
                  " predicted for a rank, " + std::to_string(arena) +
                  " bytes of it in the arena");
  lines.push_back("memory of the data: " + bytesText(sets.bytes()) +
                  " on the host for a rank; " + bytesText(sets.readingPeak()) +
                  " while it was read");
  if (device.isHost() && predicted > memory.capacity &&
      memory.total <= memory.capacity)
    lines.push_back("note: with the data this is more than the " +
                    bytesText(memory.capacity) +
                    " of a rank: `jsonl` and `text` are kept in memory as "
                    "token ids, `tokens` are not");
}

/// How the run resumes and which settings changed.
void StartReport::addResumed(Lines& lines) const {
  if (!start.changes.empty())
    lines.push_back(start.changes);
  const int64_t steps = sets.train->steps();
  if (start.step < steps)
    return lines.push_back(learningRateText());
  lines.push_back("nothing is left to do: the recipe's " +
                  std::to_string(steps) +
                  " steps are done; to train on, give it more `train." +
                  (plan.train.steps > 0 ? "steps`" : "epochs`") +
                  "; to train anew, another `train.dir` or "
                  "`checkpoint.resume = \"never\"`");
}

} // namespace reciperun::train
