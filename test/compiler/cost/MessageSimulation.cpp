// 1. A stage may take its next step. A wait, and a step that begins a message
//    in a slot, are blocked until the slot's previous message has moved.
// 2. A line moves its messages in order. The receiver's slot then has the
//    content of the sender's slot.
// 3. Draw one of the possible steps at random, until there are none.

#include "test/compiler/cost/MessageSimulation.h"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <map>
#include <set>
#include <utility>

namespace recipec::cost {
namespace {

using ir::ScheduleStep;
using ir::Transfer;
using ir::ValueId;
using ir::ValueKind;

/// One side of a message.
struct End {
  size_t stage = 0;
  const Transfer* transfer = nullptr;
  int microBatch = 0;
  int slot = 0;
};

/// The messages of a line that have begun and have not moved.
struct Line {
  std::deque<End> sends;
  std::deque<End> receives;
};

class Run {
public:
  Run(const std::vector<ir::Module>& stages, const std::string& name,
      std::mt19937& chance)
      : stages(stages), chance(chance), steps(stages.size()),
        next(stages.size()), busy(stages.size()), contents(stages.size()) {
    for (size_t i = 0; i < stages.size(); ++i)
      for (const ir::Schedule& schedule : stages[i].schedules)
        if (schedule.name == name)
          steps[i] = &schedule.steps;
  }

  std::string run() {
    while (problem.empty()) {
      std::vector<size_t> goers;
      for (size_t stage = 0; stage < stages.size(); ++stage)
        if (canGo(stage))
          goers.push_back(stage);
      std::vector<Line*> movers;
      for (auto& [number, line] : lines)
        if (!line.sends.empty() && !line.receives.empty())
          movers.push_back(&line);
      if (goers.empty() && movers.empty())
        return unfinished();
      const size_t drawn = chance() % (goers.size() + movers.size());
      if (drawn < goers.size())
        take(goers[drawn]);
      else
        move(*movers[drawn - goers.size()]);
    }
    return problem;
  }

private:
  using Slot = std::pair<ValueId, int>;

  bool hasEnded(size_t stage) const {
    return !steps[stage] || next[stage] == steps[stage]->size();
  }
  const ScheduleStep& stepOf(size_t stage) const {
    return (*steps[stage])[next[stage]];
  }
  int slotOf(size_t stage, ValueId value, int microBatch) const {
    const auto& found = stages[stage][value];
    return found.frameChunk >= 0 ? microBatch
                                 : microBatch % std::max(found.slots, 1);
  }
  End endOf(size_t stage, const ScheduleStep& step) const {
    const Transfer& transfer = stages[stage].transfers[size_t(step.transfer)];
    return {stage, &transfer, step.microBatch,
            slotOf(stage, transfer.value, step.microBatch)};
  }

  bool canGo(size_t stage) const {
    if (hasEnded(stage))
      return false;
    const ScheduleStep& step = stepOf(stage);
    if (step.transfer < 0)
      return true;
    const End end = endOf(stage, step);
    return !busy[stage].contains({end.transfer, end.slot});
  }

  void take(size_t stage) {
    const ScheduleStep& step = stepOf(stage);
    if (step.kind == ScheduleStep::Kind::run)
      compute(stage, step);
    if (step.kind == ScheduleStep::Kind::send ||
        step.kind == ScheduleStep::Kind::receive) {
      const End end = endOf(stage, step);
      Line& line = lines[end.transfer->link];
      (step.kind == ScheduleStep::Kind::send ? line.sends : line.receives)
          .push_back(end);
      busy[stage].insert({end.transfer, end.slot});
    }
    ++next[stage];
  }

  void move(Line& line) {
    const End from = line.sends.front(), to = line.receives.front();
    line.sends.pop_front();
    line.receives.pop_front();
    if (from.transfer->channel != to.transfer->channel ||
        from.microBatch != to.microBatch)
      fail(to.stage, "receives another message than it asks for",
           to.transfer->value, to.microBatch);
    if (isFollowed(from.stage, from.transfer->value))
      expectHeld(from.stage, from.transfer->value, from.microBatch);
    contents[to.stage][{to.transfer->value, to.slot}] = from.microBatch;
    busy[from.stage].erase({from.transfer, from.slot});
    busy[to.stage].erase({to.transfer, to.slot});
  }

  // ---- contents of slots

  bool isFollowed(size_t stage, ValueId value) const {
    if (value == ValueId::none)
      return false;
    const ValueKind kind = stages[stage][value].kind;
    return kind == ValueKind::temporary || kind == ValueKind::saved ||
           kind == ValueKind::received;
  }

  void compute(size_t stage, const ScheduleStep& step) {
    const ir::Function* function =
        ir::findFunction(stages[stage], step.function);
    for (const ir::Op& op : function->ops) {
      for (ValueId operand : op.operands)
        if (isFollowed(stage, operand)) {
          expectHeld(stage, operand, step.microBatch);
          expectIdle(stage, operand, step.microBatch, Transfer::Kind::receive);
        }
      for (ValueId result : op.results)
        if (isFollowed(stage, result)) {
          expectIdle(stage, result, step.microBatch, Transfer::Kind::receive);
          expectIdle(stage, result, step.microBatch, Transfer::Kind::send);
          contents[stage][{result, slotOf(stage, result, step.microBatch)}] =
              step.microBatch;
        }
    }
  }

  void expectHeld(size_t stage, ValueId value, int microBatch) {
    const auto held =
        contents[stage].find({value, slotOf(stage, value, microBatch)});
    if (held == contents[stage].end() || held->second != microBatch)
      fail(stage, "does not hold", value, microBatch);
  }

  void expectIdle(size_t stage, ValueId value, int microBatch,
                  Transfer::Kind kind) {
    const int slot = slotOf(stage, value, microBatch);
    for (const Transfer& transfer : stages[stage].transfers)
      if (transfer.value == value && transfer.kind == kind &&
          busy[stage].contains({&transfer, slot}))
        fail(stage, "uses while a message is under way", value, microBatch);
  }

  // ---- errors

  void fail(size_t stage, const std::string& what, ValueId value,
            int microBatch) {
    if (problem.empty())
      problem = "stage " + std::to_string(stage) + " " + what + " `" +
                stages[stage][value].name + "` of micro-batch " +
                std::to_string(microBatch);
  }

  std::string unfinished() const {
    std::string waits;
    for (size_t stage = 0; stage < stages.size(); ++stage)
      if (!hasEnded(stage)) {
        const End end = endOf(stage, stepOf(stage));
        waits += (waits.empty() ? "stage " : ", stage ") +
                 std::to_string(stage) + " for stage " +
                 std::to_string(end.transfer->peer) + " at step " +
                 std::to_string(next[stage]);
      }
    return waits.empty() ? waits : waits + " wait for ever";
  }

  const std::vector<ir::Module>& stages;
  std::mt19937& chance;
  std::vector<const std::vector<ScheduleStep>*> steps; // by stage
  std::vector<size_t> next;                            // next step by stage
  std::vector<std::set<std::pair<const Transfer*, int>>> busy; // slots by stage
  std::vector<std::map<Slot, int>> contents; // the micro-batch that wrote it
  std::map<int, Line> lines;
  std::string problem;
};

} // namespace

std::string runMessages(const std::vector<ir::Module>& stages,
                        const std::string& name, std::mt19937& chance) {
  return Run(stages, name, chance).run();
}

} // namespace recipec::cost
