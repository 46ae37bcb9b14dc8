// 1. Each stage has a clock and a position in its schedule. The stages advance
//    in turn, each until it waits for a message that the other side has not
//    begun.
// 2. When no stage can advance, either the step is over or there is a deadlock.
//    Each stage that has not ended waits for one other stage, so following
//    these waits from any stage leads to a cycle or to a stage that has ended.

#include "compiler/cost/Timeline.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <map>
#include <utility>

namespace recipec::cost {
namespace {

using ir::ScheduleStep;
using ir::Transfer;

/// The times at which both sides begin a message; infinite until they do.
struct Message {
  static constexpr double never = std::numeric_limits<double>::infinity();
  double sent = never;
  double received = never;
  double time = 0; // duration
  double arrival = never;
};

class Simulation {
public:
  Simulation(const std::vector<ir::Module>& stages, const std::string& name,
             const FunctionTime& functionTime, const TransferTime& transferTime)
      : stages(stages), functionTime(functionTime), transferTime(transferTime),
        schedules(stages.size(), nullptr), places(stages.size()),
        clocks(stages.size()), underway(stages.size()) {
    for (size_t i = 0; i < stages.size(); ++i)
      for (const ir::Schedule& schedule : stages[i].schedules)
        if (schedule.name == name)
          schedules[i] = &schedule;
    result.stages.resize(stages.size());
  }

  Timeline run() {
    bool isMoving = true;
    while (isMoving) {
      isMoving = false;
      for (size_t stage = 0; stage < stages.size(); ++stage)
        isMoving |= advance(stage);
    }
    for (size_t stage = 0; stage < stages.size(); ++stage) {
      result.end = std::max(result.end, clocks[stage]);
      if (result.deadlock.empty() && !hasEnded(stage))
        findDeadlock(stage);
    }
    return std::move(result);
  }

private:
  using Slot = std::pair<int, int>;        // transfer index, slot
  using MessageName = std::pair<int, int>; // channel, micro-batch

  bool hasEnded(size_t stage) const {
    return !schedules[stage] || places[stage] == schedules[stage]->steps.size();
  }

  /// Returns whether the stage took a step.
  bool advance(size_t stage) {
    if (!schedules[stage])
      return false;
    const std::vector<ScheduleStep>& steps = schedules[stage]->steps;
    size_t before = places[stage];
    while (places[stage] < steps.size() && take(stage, steps[places[stage]]))
      ++places[stage];
    return places[stage] > before;
  }

  bool take(size_t stage, const ScheduleStep& step) {
    switch (step.kind) {
    case ScheduleStep::Kind::run:
      return pass(stage, step);
    case ScheduleStep::Kind::load:
      return true;
    case ScheduleStep::Kind::wait:
      return finish(stage, slotOf(stage, step));
    case ScheduleStep::Kind::send:
    case ScheduleStep::Kind::receive:
      return finish(stage, slotOf(stage, step)) && begin(stage, step);
    }
    return true;
  }

  const Transfer& transferOf(size_t stage, const ScheduleStep& step) const {
    return stages[stage].transfers[size_t(step.transfer)];
  }

  Slot slotOf(size_t stage, const ScheduleStep& step) const {
    const ir::Value& value = stages[stage][transferOf(stage, step).value];
    return {step.transfer, value.frameChunk >= 0
                               ? step.microBatch
                               : step.microBatch % value.slots};
  }

  bool begin(size_t stage, const ScheduleStep& step) {
    const Transfer& transfer = transferOf(stage, step);
    const MessageName name(transfer.channel, step.microBatch);
    underway[stage][slotOf(stage, step)] = name;
    Message& message = messages[name];
    if (step.kind == ScheduleStep::Kind::send) {
      message.sent = clocks[stage];
      message.time = transferTime(int(stage), transfer);
    } else
      message.received = clocks[stage];
    if (std::max(message.sent, message.received) == Message::never)
      return true;
    double& free = links[transfer.link];
    message.arrival =
        std::max({message.sent, message.received, free}) + message.time;
    free = message.arrival;
    return true;
  }

  /// Waits for the message in flight in a slot, if any; false when it has not
  /// arrived yet.
  bool finish(size_t stage, Slot slot) {
    const auto found = underway[stage].find(slot);
    if (found == underway[stage].end())
      return true;
    const auto message = messages.find(found->second);
    assert(message != messages.end() && "it has been begun here");
    if (message->second.arrival == Message::never)
      return false;
    clocks[stage] = std::max(clocks[stage], message->second.arrival);
    underway[stage].erase(found);
    return true;
  }

  /// Follows the waits from one stage to the next until a stage repeats or has
  /// already ended.
  void findDeadlock(size_t stage) {
    std::vector<Blocked> way;
    auto seen = [&] {
      return std::find_if(way.begin(), way.end(), [&](const Blocked& each) {
        return each.stage == int(stage);
      });
    };
    while (seen() == way.end() && !hasEnded(stage)) {
      const ScheduleStep& step = schedules[stage]->steps[places[stage]];
      const int microBatch = underway[stage].at(slotOf(stage, step)).second;
      way.push_back({int(stage), step.transfer, microBatch});
      stage = size_t(transferOf(stage, step).peer);
    }
    result.deadlock.assign(hasEnded(stage) ? way.begin() : seen(), way.end());
  }

  bool pass(size_t stage, const ScheduleStep& step) {
    const ir::Function& function =
        *ir::findFunction(stages[stage], step.function);
    double begin = clocks[stage];
    clocks[stage] += functionTime(int(stage), function);
    result.stages[stage].push_back(
        {step.function, function.chunk, step.microBatch, begin, clocks[stage]});
    return true;
  }

  const std::vector<ir::Module>& stages;
  const FunctionTime& functionTime;
  const TransferTime& transferTime;
  std::vector<const ir::Schedule*> schedules;
  std::vector<size_t> places;
  std::vector<double> clocks;
  std::map<MessageName, Message> messages;
  std::vector<std::map<Slot, MessageName>> underway; // by stage
  std::map<int, double> links;                       // when each is free
  Timeline result;
};

} // namespace

Timeline simulate(const std::vector<ir::Module>& stages,
                  const std::string& name, const FunctionTime& functionTime,
                  const TransferTime& transferTime) {
  return Simulation(stages, name, functionTime, transferTime).run();
}

double bubbleFraction(const Timeline& timeline) {
  double busy = 0, begin = timeline.end, end = 0;
  for (const std::vector<Interval>& stage : timeline.stages)
    for (const Interval& interval : stage) {
      busy += interval.end - interval.begin;
      begin = std::min(begin, interval.begin);
      end = std::max(end, interval.end);
    }
  double all = (end - begin) * double(timeline.stages.size());
  return all > 0 ? 1 - busy / all : 0;
}

} // namespace recipec::cost
