// Marks are collected as spans while a step is launched, and spans become
// events once the step is done. A step begins with an idle device, so that the
// host clock gives the time of its first mark.

#include "runtime/train/Trace.h"

#include "runtime/checkpoint/Files.h"
#include "runtime/ops/OpTable.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <utility>

namespace reciperun::train {
namespace {

double secondsBetween(std::chrono::steady_clock::time_point from,
                      std::chrono::steady_clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}

/// Parses a whole number; returns a negative value when the text is not one.
int64_t numberOf(std::string_view text) {
  int64_t number = -1;
  const char* const end = text.data() + text.size();
  const auto [rest, code] = std::from_chars(text.data(), end, number);
  return code == std::errc() && rest == end && !text.empty() ? number : -1;
}

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts(1);
  for (char letter : text)
    if (letter == at)
      parts.emplace_back();
    else
      parts.back() += letter;
  return parts;
}

nlohmann::ordered_json laneName(int rank, int lane, const std::string& name) {
  return {{"name", "thread_name"},
          {"ph", "M"},
          {"pid", rank},
          {"tid", lane},
          {"args", {{"name", name}}}};
}

} // namespace

Expected<ProfileRange> ProfileRange::parse(const std::string& text) {
  const Status wrong = Status::error(
      "`--profile` is FIRST:LAST:RANKS, such as `10:12:0`, `10:12:0,3` or "
      "`10:12:all`, with steps from 1 on, not `" +
      text + "`");
  const std::vector<std::string> parts = split(text, ':');
  if (parts.size() < 2 || parts.size() > 3)
    return wrong;
  ProfileRange range{numberOf(parts[0]), numberOf(parts[1]), {0}};
  if (range.first < 1 || range.last < range.first)
    return wrong;
  if (parts.size() < 3)
    return range;
  range.ranks.clear();
  if (parts[2] == "all")
    return range;
  for (const std::string& rank : split(parts[2], ',')) {
    range.ranks.push_back(int(numberOf(rank)));
    if (range.ranks.back() < 0)
      return wrong;
  }
  return range;
}

bool ProfileRange::takes(int rank) const {
  return first > 0 && (ranks.empty() || std::find(ranks.begin(), ranks.end(),
                                                  rank) != ranks.end());
}

Trace::Trace(const plan::Stage& stage, device::Device& device,
             exec::Observer& inner)
    : stage(stage), device(device), inner(inner) {}

std::string Trace::begin() {
  const Status status = device.beginProfile();
  begun = Clock::now();
  return status.isOk() ? "" : "the trace has no kernels: " + status.message();
}

void Trace::startStep(int64_t number) {
  stepBegin = secondsBetween(begun, Clock::now());
  spans.push_back({steps, "step " + std::to_string(number), {}, device.mark()});
}

void Trace::takeStep() {
  const int first = spans.front().begin;
  for (const Span& span : spans)
    spans.front().end = std::max(spans.front().end, span.end);
  for (const Span& span : spans)
    events.push_back({span.lane, span.name, span.kind,
                      stepBegin + device.seconds(first, span.begin),
                      stepBegin + device.seconds(first, span.end)});
  spans.clear();
}

std::string Trace::nameOf(const plan::ScheduleStep& step) const {
  const std::string batch = " " + std::to_string(step.microBatch);
  if (step.kind == plan::ScheduleStep::Kind::load)
    return "load" + batch;
  if (step.kind == plan::ScheduleStep::Kind::run)
    return stage.functions[size_t(step.function)].name + batch;
  const plan::Transfer& moved = stage.transfers[size_t(step.transfer)];
  const std::string& buffer = stage.buffers[size_t(moved.buffer)].name;
  if (step.kind == plan::ScheduleStep::Kind::wait)
    return "wait for `" + buffer + "`" + batch;
  const bool isSent = step.kind == plan::ScheduleStep::Kind::send;
  return (isSent ? "send `" : "receive `") + buffer + "`" + batch;
}

void Trace::beginsStep(const plan::ScheduleStep& step) {
  inner.beginsStep(step);
  const int mark = device.mark();
  spans.push_back({functions, nameOf(step), {}, mark, mark});
}

void Trace::endsOp(const plan::Op& op, std::span<const device::Tensor>) {
  const Span& last = spans.back();
  const int begin = last.lane == ops ? last.end : last.begin;
  spans.push_back({ops, op.name, ops::opName(op.kind), begin, device.mark()});
}

void Trace::endsStep(const plan::ScheduleStep& step) {
  inner.endsStep(step);
  const int mark = device.mark();
  const auto function =
      std::find_if(spans.rbegin(), spans.rend(),
                   [](const Span& span) { return span.lane == functions; });
  function->end = mark;
}

Status Trace::write(const std::filesystem::path& path, int rank) {
  Expected<std::vector<device::Activity>> done = device.endProfile();
  RECIPERUN_TRY(done);
  int lanes = streams;
  for (device::Activity& activity : *done) {
    lanes = std::max(lanes, streams + activity.lane + 1);
    events.push_back({streams + activity.lane, std::move(activity.name),
                      std::move(activity.range), activity.begin, activity.end});
  }
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  all.push_back({{"name", "process_name"},
                 {"ph", "M"},
                 {"pid", rank},
                 {"args", {{"name", "rank " + std::to_string(rank)}}}});
  const char* const names[] = {"steps", "functions", "ops"};
  for (int lane = 0; lane < lanes; ++lane)
    all.push_back(laneName(rank, lane,
                           lane < streams
                               ? names[lane]
                               : "stream " + std::to_string(lane - streams)));
  for (const Event& event : events) {
    nlohmann::ordered_json object = {{"name", event.name},
                                     {"ph", "X"},
                                     {"pid", rank},
                                     {"tid", event.lane},
                                     {"ts", event.begin * 1e6},
                                     {"dur", (event.end - event.begin) * 1e6}};
    if (!event.detail.empty())
      object["args"] = {{event.lane < streams ? "kind" : "op", event.detail}};
    all.push_back(std::move(object));
  }
  const nlohmann::ordered_json trace = {{"displayTimeUnit", "ms"},
                                        {"traceEvents", std::move(all)}};
  return checkpoint::writeTextFile(path, trace.dump() + "\n");
}

} // namespace reciperun::train
