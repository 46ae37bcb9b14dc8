// Each stage has a clock and a place in its schedule. In turn, every stage goes
// on until it waits for a message that has not been sent; when none can go on,
// the step is over or the stages wait for one another.

#include "compiler/cost/Timeline.h"

#include <algorithm>
#include <map>

namespace recipec::cost {
namespace {

using ir::Step;

class Simulation {
public:
  Simulation(const std::vector<ir::Module>& stages, const std::string& name,
             const FunctionTime& functionTime, const TransferTime& transferTime)
      : stages(stages), functionTime(functionTime), transferTime(transferTime),
        schedules(stages.size(), nullptr), places(stages.size()),
        clocks(stages.size()), runs(stages.size()) {
    for (size_t i = 0; i < stages.size(); ++i)
      for (const ir::Schedule& schedule : stages[i].schedules)
        if (schedule.name == name)
          schedules[i] = &schedule;
    for (size_t i = 0; i < stages.size(); ++i)
      if (schedules[i])
        for (const Step& step : schedules[i]->steps)
          if (step.kind == Step::Kind::run)
            ++runs[i][step.function];
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
      result.isWhole &=
          !schedules[stage] || places[stage] == schedules[stage]->steps.size();
    }
    return std::move(result);
  }

private:
  /// Whether the stage took a step.
  bool advance(size_t stage) {
    if (!schedules[stage])
      return false;
    const std::vector<Step>& steps = schedules[stage]->steps;
    size_t before = places[stage];
    while (places[stage] < steps.size() && take(stage, steps[places[stage]]))
      ++places[stage];
    return places[stage] > before;
  }

  bool take(size_t stage, const Step& step) {
    if (step.kind == Step::Kind::run)
      return pass(stage, step);
    if (step.kind == Step::Kind::load || step.kind == Step::Kind::receive)
      return true;
    const ir::Transfer& transfer =
        stages[stage].transfers[size_t(step.transfer)];
    std::pair<int, int> message(transfer.channel, step.microBatch);
    bool isSend = transfer.kind == ir::Transfer::Kind::send;
    if (step.kind == Step::Kind::send)
      arrivals[message] = clocks[stage] + transferTime(int(stage), transfer);
    if (step.kind == Step::Kind::send || isSend)
      return true;
    auto arrival = arrivals.find(message);
    if (arrival == arrivals.end())
      return false;
    clocks[stage] = std::max(clocks[stage], arrival->second);
    return true;
  }

  bool pass(size_t stage, const Step& step) {
    const ir::Function& function =
        *ir::findFunction(stages[stage], step.function);
    double begin = clocks[stage];
    const bool isLast = --runs[stage][step.function] == 0;
    clocks[stage] += functionTime(int(stage), function, isLast);
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
  std::vector<std::map<std::string, int>> runs;   // that are still to come
  std::map<std::pair<int, int>, double> arrivals; // by channel, micro-batch
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
