// See OpTimes.h.

#include "runtime/train/OpTimes.h"
#include "runtime/ops/OpTable.h"

#include <algorithm>
#include <cstdio>

namespace reciperun::train {
namespace {

/// `linear ffn.up`: the kind, and for linear ops the name within the layer, so
/// that all layers share a line.
std::string lineOf(const plan::Op& op) {
  std::string line = ops::opName(op.kind);
  if (!line.starts_with("linear"))
    return line;
  std::string name = op.name;
  const size_t digit = name.find_last_of("0123456789");
  const size_t point = digit == std::string::npos ? 0 : name.find('.', digit);
  if (digit != std::string::npos && point != std::string::npos)
    name = name.substr(point + 1);
  return line + " " + name;
}

} // namespace

void OpTimes::beginsStep(const plan::ScheduleStep& step) {
  inner.beginsStep(step);
  if (step.kind == plan::ScheduleStep::Kind::run)
    marks.push_back({nullptr, device.mark()});
}

void OpTimes::endsStep(const plan::ScheduleStep& step) {
  inner.endsStep(step);
}

void OpTimes::endsOp(const plan::Op& op, std::span<const device::Tensor>) {
  marks.push_back({&op, device.mark()});
}

void OpTimes::takeStep() {
  ++steps;
  for (size_t i = 1; i < marks.size(); ++i)
    if (marks[i].op) {
      Sum& sum = sums[lineOf(*marks[i].op)];
      sum.seconds += device.seconds(marks[i - 1].number, marks[i].number);
      ++sum.count;
    }
  marks.clear();
}

void OpTimes::takeUsual(const StepTimes& times) {
  usual.step += times.step;
  usual.host += times.host;
  ++usualSteps;
}

/// `; of 8 others one took 251.300 ms, and the host 0.900 ms (0.36 %)`.
std::string OpTimes::usualText() const {
  if (usualSteps == 0)
    return {};
  char text[128];
  std::snprintf(text, sizeof text,
                "; of %lld others one took %.3f ms, and the host %.3f ms "
                "(%.2f %%)",
                static_cast<long long>(usualSteps),
                usual.step / double(usualSteps) * 1e3,
                usual.host / double(usualSteps) * 1e3,
                usual.step > 0 ? usual.host / usual.step * 100 : 0);
  return text;
}

std::string OpTimes::table() const {
  if (steps == 0)
    return "`--op-times` follows every fourth step, and the run had fewer";
  std::vector<std::pair<std::string, Sum>> lines(sums.begin(), sums.end());
  std::stable_sort(lines.begin(), lines.end(),
                   [](const auto& left, const auto& right) {
                     return left.second.seconds > right.second.seconds;
                   });
  double all = 0;
  for (const auto& [line, sum] : lines)
    all += sum.seconds;
  std::string text = "ms a step by kinds of ops, of " + std::to_string(steps) +
                     " steps" + usualText();
  for (const auto& [line, sum] : lines) {
    char row[256];
    std::snprintf(row, sizeof row, "\n  %9.3f %5.1f %% %6.0f x %s",
                  sum.seconds / double(steps) * 1e3, sum.seconds / all * 100,
                  double(sum.count) / double(steps), line.c_str());
    text += row;
  }
  return text;
}

} // namespace reciperun::train
