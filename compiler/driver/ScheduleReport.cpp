// A cell is a unit of time; a backward pass takes two. `3` is the forward pass
// of micro-batch 3, `(3 )` its backward pass. With several chunks the chunk's
// letter follows: `3b`. A dot is a waiting stage. The picture is at most about
// 170 characters wide and has at most 24 stages. It leaves out the cells and
// stages in the middle and says how many.

#include "compiler/driver/ScheduleReport.h"

#include "compiler/cost/Timeline.h"

#include "llvm/Support/FormatVariadic.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace recipec::driver {
namespace {

using cost::Interval;

constexpr double forwardTime = 1, backwardTime = 2;
/// Limits of the picture: characters of a stage's cells, and stages.
constexpr size_t mostWidth = 160, mostRows = 24;
/// The maximum number of steps that are listed over all stages.
constexpr size_t mostSteps = 400;

bool isPass(const ir::Function& function) {
  return function.name.starts_with("forward") ||
         function.name.starts_with("backward");
}

double unitTime(const ir::Function& function) {
  if (!isPass(function))
    return 0;
  return function.name.starts_with("forward") ? forwardTime : backwardTime;
}

/// The label of a pass in the picture.
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

/// The stages that are drawn: all, or the first and the last ones.
struct Depth {
  explicit Depth(size_t all)
      : all(all), head(all <= mostRows ? all : mostRows / 2),
        tail(all <= mostRows ? all : all - mostRows / 2) {}

  size_t leftOut() const { return tail - head; }
  bool shows(size_t stage) const { return stage < head || stage >= tail; }

  size_t all, head, tail;
};

/// The half-open ranges of cells that are drawn: all, or the beginning, the
/// middle, where a long pipeline repeats itself, and the end.
using Parts = std::vector<std::pair<size_t, size_t>>;
Parts partsOf(size_t all, size_t most) {
  if (all <= most)
    return {{0, all}};
  const size_t third = most / 3, middle = (all - third) / 2;
  return {{0, third}, {middle, middle + third}, {all - third, all}};
}

size_t cellsOf(const Parts& parts) {
  size_t count = 0;
  for (const auto& [from, to] : parts)
    count += to - from;
  return count;
}

/// The drawing of a pass, as wide as its cells.
std::string drawn(const Interval& interval, size_t length, bool hasChunks) {
  std::string name = label(interval, hasChunks);
  if (interval.function.starts_with("backward"))
    name = "(" + name + std::string(length - name.size() - 2, ' ') + ")";
  return std::string(length - name.size(), ' ') + name;
}

/// The cells [from, to) of a stage.
std::string cells(const std::vector<Interval>& stage, size_t from, size_t to,
                  size_t width, bool hasChunks) {
  const std::string dot = std::string(width - 1, ' ') + ".";
  std::string text;
  for (size_t i = from; i < to; ++i)
    text += dot;
  for (const Interval& interval : stage) {
    const auto begin = size_t(std::lround(interval.begin));
    const auto end = size_t(std::lround(interval.end));
    if (begin == end || end <= from || begin >= to)
      continue;
    const std::string pass = drawn(interval, (end - begin) * width, hasChunks);
    const size_t first = std::max(begin, from), last = std::min(end, to);
    text.replace((first - from) * width, (last - first) * width, pass,
                 (first - begin) * width, (last - first) * width);
  }
  return text;
}

cost::Timeline unitTimeline(const std::vector<ir::Module>& stages) {
  return cost::simulate(
      stages, "train",
      [](int, const ir::Function& function) { return unitTime(function); },
      [](int, const ir::Transfer&) { return 0.0; });
}

bool hasSeveralChunks(const std::vector<ir::Module>& stages) {
  return std::any_of(
      stages[0].functions.begin(), stages[0].functions.end(),
      [](const ir::Function& function) { return function.chunk > 0; });
}

std::string stageName(size_t stage, size_t stages) {
  const std::string number = std::to_string(stage);
  const size_t digits = std::to_string(stages - 1).size();
  return "stage " + std::string(digits - number.size(), ' ') + number;
}

/// One line for each shown stage, and one for the hidden stages.
template <class Line>
std::string linesOf(const Depth& depth, const Line& line) {
  std::string text;
  for (size_t i = 0; i < depth.all; ++i) {
    if (depth.shows(i))
      text += line(i) + "\n";
    else if (i == depth.head)
      text += "... " + std::to_string(depth.leftOut()) + " stages ...\n";
  }
  return text;
}

std::string picture(const cost::Timeline& timeline, bool hasChunks) {
  const size_t width = cellWidth(timeline, hasChunks);
  const auto units = size_t(std::lround(timeline.end));
  const Parts parts = partsOf(units, mostWidth / width);
  const Depth depth(timeline.stages.size());
  std::string text = "forward passes take 1, backward passes ( ) 2";
  if (parts.size() > 1)
    text += "; beginning, middle and end of " + std::to_string(units) +
            " units of time, " + std::to_string(units - cellsOf(parts)) +
            " left out";
  text += "\n" + linesOf(depth, [&](size_t stage) {
            std::string row = stageName(stage, depth.all) + " |";
            for (const auto& [from, to] : parts)
              row += (from > 0 ? " ..." : "") +
                     cells(timeline.stages[stage], from, to, width, hasChunks);
            return row + " |";
          });
  return text + llvm::formatv("bubble {0:f1} % of the step\n\n",
                              100 * cost::bubbleFraction(timeline))
                    .str();
}

// ---- steps

size_t stepsOf(const ir::Module& stage) {
  size_t count = 0;
  for (const ir::Schedule& schedule : stage.schedules)
    count += schedule.steps.size();
  return count;
}

/// A summary of a stage's passes: `14 forward passes, 3 before the first
/// backward, at most 4 micro-batches in flight, waits 12 % of the step`.
std::string passesText(const std::vector<Interval>& passes, double end) {
  int forward = 0, warmUp = -1, flying = 0, most = 0;
  double busy = 0;
  for (const Interval& pass : passes) {
    const bool isBackward = pass.function.starts_with("backward");
    if (!isBackward && !pass.function.starts_with("forward"))
      continue;
    if (isBackward && warmUp < 0)
      warmUp = forward;
    forward += !isBackward;
    flying += isBackward ? -1 : 1;
    most = std::max(most, flying);
    busy += pass.end - pass.begin;
  }
  return llvm::formatv("{0} forward passes, {1} before the first backward, at "
                       "most {2} in flight, waits {3:f1} %",
                       forward, std::max(warmUp, 0), most,
                       end > 0 ? 100 * (1 - busy / end) : 0.0);
}

/// Replaces the steps if there are too many.
std::string summary(const std::vector<ir::Module>& stages,
                    const cost::Timeline& timeline) {
  std::string text = linesOf(Depth(stages.size()), [&](size_t stage) {
    return stageName(stage, stages.size()) + ": " +
           passesText(timeline.stages[stage], timeline.end) + ", " +
           std::to_string(stepsOf(stages[stage])) + " steps";
  });
  return text + "\n`--emit=schedule:0` lists the steps of stage 0, and so on\n";
}

std::string stepText(const ir::Module& stage, const ir::ScheduleStep& step) {
  std::string text(ops::nameOf(step.kind));
  if (step.kind == ir::ScheduleStep::Kind::run)
    text += " " + step.function;
  if (step.transfer >= 0) {
    const ir::Transfer& transfer = stage.transfers[size_t(step.transfer)];
    text += " " + stage[transfer.value].name;
    if (step.kind != ir::ScheduleStep::Kind::wait)
      text += (step.kind == ir::ScheduleStep::Kind::send ? " to" : " from") +
              std::string(" stage ") + std::to_string(transfer.peer);
  }
  return text + " micro-batch=" + std::to_string(step.microBatch);
}

bool trains(const ir::Module& stage) {
  return std::ranges::any_of(stage.schedules, [](const ir::Schedule& each) {
    return each.name == "train";
  });
}

/// The schedules of a server, of all stages or of the first ones.
std::string servingText(const std::vector<ir::Module>& stages) {
  std::string text = "a step runs the schedule of the narrowest width for its "
                     "tokens\n\n";
  size_t steps = 0;
  for (const ir::Module& stage : stages) {
    steps += stepsOf(stage);
    if (steps > mostSteps)
      return text + "`--emit=schedule:" + std::to_string(stage.stage) +
             "` lists the steps of stage " + std::to_string(stage.stage) +
             ", and so on\n";
    text += stepsText(stage);
  }
  return text;
}

} // namespace

std::string stepsText(const ir::Module& stage) {
  std::string text;
  for (const ir::Schedule& schedule : stage.schedules) {
    text += "schedule " + schedule.name;
    if (stage.stages > 1)
      text += " of stage " + std::to_string(stage.stage);
    text += "\n";
    for (const ir::ScheduleStep& step : schedule.steps)
      text += "  " + stepText(stage, step) + "\n";
    text += "\n";
  }
  return text;
}

std::string scheduleText(const std::vector<ir::Module>& stages) {
  if (!trains(stages[0]))
    return servingText(stages);
  const cost::Timeline timeline = unitTimeline(stages);
  std::string text = picture(timeline, hasSeveralChunks(stages));
  size_t steps = 0;
  for (const ir::Module& stage : stages)
    steps += stepsOf(stage);
  if (steps > mostSteps)
    return text + summary(stages, timeline);
  for (const ir::Module& stage : stages)
    text += stepsText(stage);
  return text;
}

} // namespace recipec::driver
