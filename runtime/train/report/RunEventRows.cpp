// See RunEventRows.h.

#include "runtime/train/report/RunEventRows.h"

#include "runtime/base/Text.h"
#include "runtime/train/report/LineChart.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <optional>
#include <utility>

namespace reciperun::train {
namespace {

/// Of each kind that repeats.
constexpr size_t mostRepeated = 50;

std::string timeText(double time) {
  constexpr double latest = 253402300799; // year 9999
  if (!(time > 0 && time <= latest))
    return {};
  const std::time_t seconds = std::time_t(time);
  std::tm parts = {};
  gmtime_r(&seconds, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts);
  return text;
}

std::string numberOf(const std::optional<double>& value) {
  return value ? textOf(*value, Quantity::number) : "NaN";
}

/// A row that can be sorted by time.
struct TimedRow {
  double time = 0;
  EventRow row;
};

EventRow rowOf(const RunEvent& event) {
  EventRow row{event.step, timeText(event.time), event.kind, event.checkpoint};
  if (event.kind == "resume")
    row.details = "from " + event.checkpoint;
  if (event.kind == "checkpoint" && event.seconds)
    row.details += ", in " + textOf(*event.seconds, Quantity::seconds);
  if (event.kind == "spike")
    row.details = "loss " + numberOf(event.loss) + ", median before " +
                  numberOf(event.usual);
  if (event.kind == "straggler" || event.kind == "spot_notice")
    row.details = event.message;
  if (event.kind == "end")
    row.details =
        event.reason + (event.message.empty() ? "" : ": " + event.message);
  return row;
}

/// Where a process ended before `next`, or up to now, without an event.
EventRow lostRow(int64_t step, const RunEvent* next) {
  return {step, "", "no end",
          next ? "the process was killed, or its host failed"
               : "the run goes on, or its process was killed"};
}

std::vector<TimedRow> recordedRows(const RunFolder& run) {
  std::vector<TimedRow> made;
  bool isOpen = false;
  for (const RunEvent& event : run.events) {
    const bool begins = event.kind == "start" || event.kind == "resume";
    if (begins && isOpen)
      made.push_back({event.time, lostRow(event.step, &event)});
    isOpen = begins || (isOpen && event.kind != "end");
    made.push_back({event.time, rowOf(event)});
  }
  if (isOpen) {
    const MetricsRow& last = run.rows.back();
    const double time = std::max(last.time.value_or(0), made.back().time);
    made.push_back({time, lostRow(last.step, nullptr)});
  }
  return made;
}

/// Without the time, a row follows the one before it.
void addValidations(const RunFolder& run, std::vector<TimedRow>& rows) {
  for (const MetricsRow& row : run.rows)
    if (row.validLoss)
      rows.push_back({row.time.value_or(0),
                      {row.step, timeText(row.time.value_or(0)), "validation",
                       "loss " + numberOf(row.validLoss)}});
}

/// Removes the earlier rows of a kind; returns how many.
size_t keepLast(const std::string& kind, std::vector<TimedRow>& rows) {
  const auto isKind = [&](const TimedRow& each) {
    return each.row.what == kind;
  };
  const size_t count = size_t(std::ranges::count_if(rows, isKind));
  const size_t surplus = count > mostRepeated ? count - mostRepeated : 0;
  size_t removed = 0;
  std::erase_if(rows, [&](const TimedRow& each) {
    return isKind(each) && removed < surplus && ++removed;
  });
  return surplus;
}

} // namespace

EventRows eventRowsOf(const RunFolder& run) {
  std::vector<TimedRow> timed = recordedRows(run);
  addValidations(run, timed);
  std::ranges::stable_sort(timed, {}, &TimedRow::time);
  EventRows made;
  for (const char* kind : {"checkpoint", "validation", "straggler"})
    made.leftOut += keepLast(kind, timed);
  for (TimedRow& each : timed)
    made.rows.push_back(std::move(each.row));
  return made;
}

} // namespace reciperun::train
