// A cell is a unit of time, two of them a backward pass: `3` is micro-batch 3
// going forward, `(3 )` the same going backward; with several chunks their
// letter follows, `3b`. A dot is a stage that waits.

#include "compiler/driver/ScheduleReport.h"

#include "compiler/cost/Timeline.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace recipec::driver {
namespace {

using cost::Interval;

constexpr double forwardTime = 1, backwardTime = 2;

bool isPass(const ir::Function& function) {
  return function.name.starts_with("forward") ||
         function.name.starts_with("backward");
}

double unitTime(const ir::Function& function) {
  if (!isPass(function))
    return 0;
  return function.name.starts_with("forward") ? forwardTime : backwardTime;
}

/// What a pass is called in the picture.
std::string label(const Interval& interval, bool hasChunks) {
  std::string text = std::to_string(interval.microBatch);
  if (hasChunks)
    text += char('a' + interval.chunk % 26);
  return text;
}

size_t cellWidth(const cost::Timeline& timeline, bool hasChunks) {
  size_t width = 1;
  for (const std::vector<Interval>& stage : timeline.stages)
    for (const Interval& interval : stage)
      width = std::max(width, label(interval, hasChunks).size());
  return width + 1;
}

std::string row(const std::vector<Interval>& stage, double end, size_t width,
                bool hasChunks) {
  size_t cells = size_t(std::lround(end));
  std::string dot = std::string(width - 1, ' ') + ".";
  std::string text;
  for (size_t i = 0; i < cells; ++i)
    text += dot;
  for (const Interval& interval : stage) {
    size_t begin = size_t(std::lround(interval.begin)) * width;
    size_t length = size_t(std::lround(interval.end)) * width - begin;
    if (length == 0)
      continue;
    std::string name = label(interval, hasChunks);
    if (interval.function.starts_with("backward"))
      name = "(" + name + std::string(length - name.size() - 2, ' ') + ")";
    text.replace(begin, length, std::string(length - name.size(), ' ') + name);
  }
  return text;
}

std::string picture(const std::vector<ir::Module>& stages) {
  cost::Timeline timeline = cost::simulate(
      stages, "train",
      [](int, const ir::Function& function, bool) {
        return unitTime(function);
      },
      [](int, const ir::Transfer&) { return 0.0; });
  bool hasChunks = std::any_of(
      stages[0].functions.begin(), stages[0].functions.end(),
      [](const ir::Function& function) { return function.chunk > 0; });
  size_t width = cellWidth(timeline, hasChunks);
  size_t digits = std::to_string(stages.size() - 1).size();
  std::string text = "forward passes take 1, backward passes ( ) 2\n";
  for (size_t i = 0; i < stages.size(); ++i) {
    std::string number = std::to_string(i);
    text += "stage " + std::string(digits - number.size(), ' ') + number +
            " |" + row(timeline.stages[i], timeline.end, width, hasChunks) +
            " |\n";
  }
  char line[96];
  std::snprintf(line, sizeof line, "bubble %.1f %% of the step\n\n",
                100 * cost::bubbleFraction(timeline));
  return text + line;
}

std::string stepText(const ir::Module& stage, const ir::Step& step) {
  std::string text(ir::stepName(step.kind));
  if (step.kind == ir::Step::Kind::run)
    text += " " + step.function;
  if (step.transfer >= 0) {
    const ir::Transfer& transfer = stage.transfers[size_t(step.transfer)];
    text += " " + stage[transfer.value].name;
    if (step.kind != ir::Step::Kind::wait)
      text += (step.kind == ir::Step::Kind::send ? " to" : " from") +
              std::string(" stage ") + std::to_string(transfer.peer);
  }
  return text + " micro-batch=" + std::to_string(step.microBatch);
}

} // namespace

std::string scheduleText(const std::vector<ir::Module>& stages) {
  if (stages[0].schedules.empty()) {
    std::string text = "no schedule: each of these runs when tokens are there "
                       "for it\n";
    for (const ir::Function& function : stages[0].functions)
      text += "  run " + function.name + "\n";
    return text;
  }
  std::string text = picture(stages);
  for (const ir::Module& stage : stages)
    for (const ir::Schedule& schedule : stage.schedules) {
      text += "schedule " + schedule.name;
      if (stages.size() > 1)
        text += " of stage " + std::to_string(stage.stage);
      text += "\n";
      for (const ir::Step& step : schedule.steps)
        text += "  " + stepText(stage, step) + "\n";
      text += "\n";
    }
  return text;
}

} // namespace recipec::driver
