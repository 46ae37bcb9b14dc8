// 1. Order the passes of the stage's chunks (PipelineOrder.h).
// 2. Give every value that outlives its function its slots: what the backward
//    reads one for each micro-batch in flight, and a further one where it is
//    received, so that the next can arrive meanwhile; what is only passed on
//    two; what is received, added to and sent from there three.
// 3. Write the steps. Around a function: begin to receive what it and the next
//    function read where its slot is free and has been sent, wait for what it
//    reads from other stages, wait until what it overwrites has been sent, load
//    the micro-batch, run, begin to send. Receiving begins before any wait, so
//    that no stage waits for what this one could take.
// 4. Run the steps of all stages side by side (cost/Timeline.h). Where stages
//    wait for one another, one of them waits to overwrite what it has sent:
//    give that value a further slot, write the stage's steps anew, and look
//    again. The order of the passes alone lets no stages wait for one another,
//    so that this ends: with a slot for each micro-batch nothing sent is waited
//    for. Chunks without a layer lead there: a stage next to some goes on by
//    more micro-batches than its neighbours before it takes what they send
//    back.
// 5. Say which messages go one behind the other (Links.h).
// `generate` has no schedule: a bucket of the plan names the function that the
// next tokens go through, and how many follow is known only when they do.

#include "compiler/passes/schedule/Schedule.h"

#include "compiler/cost/Timeline.h"
#include "compiler/passes/schedule/Links.h"
#include "compiler/passes/schedule/PipelineOrder.h"
#include "compiler/passes/schedule/Stages.h"

#include <algorithm>
#include <cassert>
#include <map>
#include <optional>
#include <set>

namespace recipec::passes {
namespace {

using ir::ScheduleStep;
using ir::Transfer;
using ir::ValueId;
using ir::ValueKind;

/// A run of a function on a micro-batch.
struct Run {
  std::string function;
  int microBatch = 0;
};

// ---- slots

class Slots {
public:
  Slots(ir::Module& stage, const std::vector<Pass>& order, int chunks)
      : stage(stage), order(order), chunks(chunks) {}

  void run() {
    for (const ir::Function& function : stage.functions)
      if (isOf(function, "forward"))
        saved(function);
    for (const Transfer& transfer : stage.transfers)
      transferred(transfer);
  }

private:
  bool isOf(const ir::Function& function, const std::string& name) const {
    return function.name == chunkFunction(name, function.chunk, chunks);
  }

  /// Where forward and backward of a micro-batch always follow one another, its
  /// activations are alive in them alone.
  void saved(const ir::Function& function) {
    int flying = inFlight(order, function.chunk);
    if (flying == 1 && chunks == 1)
      return;
    std::set<ValueId> read = readBy("backward", function.chunk);
    for (const ir::Op& op : function.ops)
      for (ValueId result : op.results)
        if (result != ValueId::none && stage[result].kind == ValueKind::saved &&
            read.contains(result))
          stage[result].slots = flying;
  }

  void transferred(const Transfer& transfer) {
    ir::Value& value = stage[transfer.value];
    const ir::Function& function = *ir::findFunction(stage, transfer.function);
    if (isOf(function, "evaluate")) {
      value.slots = std::max(value.slots, 1);
      return;
    }
    bool isKept = value.kind == ValueKind::received &&
                  isOf(function, "forward") &&
                  readBy("backward", function.chunk).contains(transfer.value);
    int needed = isKept ? inFlight(order, function.chunk) + 1
                 : isSentFrom(transfer.value) ? 3
                                              : 2;
    value.slots = std::max(value.slots, needed);
  }

  /// Whether a received value leaves in the place where it came.
  bool isSentFrom(ValueId value) const {
    return stage[value].kind == ValueKind::received &&
           std::any_of(stage.transfers.begin(), stage.transfers.end(),
                       [&](const Transfer& each) {
                         return each.kind == Transfer::Kind::send &&
                                each.value == value;
                       });
  }

  std::set<ValueId> readBy(const char* name, int chunk) const {
    std::set<ValueId> values;
    if (const ir::Function* function =
            ir::findFunction(stage, chunkFunction(name, chunk, chunks)))
      for (const ir::Op& op : function->ops)
        values.insert(op.operands.begin(), op.operands.end());
    return values;
  }

  ir::Module& stage;
  const std::vector<Pass>& order;
  int chunks;
};

// ---- steps

class ScheduleBuilder {
public:
  ScheduleBuilder(ir::Module& stage, std::string name) : stage(stage) {
    schedule.name = std::move(name);
  }

  /// A function without a micro-batch; left out where it has no op.
  void run(const std::string& name) {
    if (hasOps(name))
      step(ScheduleStep::Kind::run, -1, 0, name);
  }

  /// Passes in their order, those without an op left out.
  void runAll(std::vector<Run> runs) {
    std::erase_if(runs, [&](const Run& run) { return !hasOps(run.function); });
    if (runs.empty())
      load(0); // a stage without a part in it stays in step with the others
    findLastReaders(runs);
    for (size_t i = 0; i < runs.size(); ++i) {
      receive(runs[i]);
      if (i + 1 < runs.size())
        receive(runs[i + 1]);
      for (int transfer : transfersOf(runs[i], Transfer::Kind::receive))
        wait(transfer, runs[i].microBatch);
      for (int transfer : transfersOf(runs[i], Transfer::Kind::send))
        wait(transfer, runs[i].microBatch - slotsOf(transfer));
      load(runs[i].microBatch);
      step(ScheduleStep::Kind::run, -1, runs[i].microBatch, runs[i].function);
      done.insert({runs[i].function, runs[i].microBatch});
      for (int transfer : transfersOf(runs[i], Transfer::Kind::send))
        begin(ScheduleStep::Kind::send, transfer, runs[i].microBatch);
    }
    while (!pending.empty())
      wait(pending.begin()->first, pending.begin()->second);
  }

  /// In place of the schedule of this name, where there is one.
  void finish() {
    for (ir::Schedule& known : stage.schedules)
      if (known.name == schedule.name) {
        known = std::move(schedule);
        return;
      }
    stage.schedules.push_back(std::move(schedule));
  }

private:
  bool hasOps(const std::string& name) const {
    const ir::Function* function = ir::findFunction(stage, name);
    return function && !function->ops.empty();
  }

  std::vector<int> transfersOf(const Run& run, Transfer::Kind kind) const {
    std::vector<int> result;
    for (size_t i = 0; i < stage.transfers.size(); ++i)
      if (stage.transfers[i].function == run.function &&
          stage.transfers[i].kind == kind)
        result.push_back(int(i));
    return result;
  }

  int slotsOf(int transfer) const {
    return stage[stage.transfers[size_t(transfer)].value].slots;
  }

  /// The last function of a micro-batch that names a received value.
  void findLastReaders(const std::vector<Run>& runs) {
    std::map<std::string, std::set<ValueId>> named;
    for (const Run& run : runs) {
      std::set<ValueId>& values = named[run.function];
      if (values.empty())
        for (const ir::Op& op : ir::findFunction(stage, run.function)->ops)
          for (const auto* list : {&op.operands, &op.results})
            values.insert(list->begin(), list->end());
      if (run.microBatch == runs.front().microBatch)
        for (ValueId value : values)
          lastReader[value] = run.function;
    }
  }

  /// Begins to receive what a run reads, where that has not begun and the slot
  /// is free.
  void receive(const Run& run) {
    for (int transfer : transfersOf(run, Transfer::Kind::receive)) {
      if (!begun.insert({transfer, run.microBatch}).second)
        continue;
      int before = run.microBatch - slotsOf(transfer);
      ValueId value = stage.transfers[size_t(transfer)].value;
      if (before < 0 || done.contains({lastReader.at(value), before})) {
        waitForSends(value, before);
        begin(ScheduleStep::Kind::receive, transfer, run.microBatch);
      } else
        begun.erase({transfer, run.microBatch});
    }
  }

  /// What was sent from a slot before it is received into again.
  void waitForSends(ValueId value, int microBatch) {
    for (size_t i = 0; i < stage.transfers.size(); ++i)
      if (stage.transfers[i].kind == Transfer::Kind::send &&
          stage.transfers[i].value == value)
        wait(int(i), microBatch);
  }

  void begin(ScheduleStep::Kind kind, int transfer, int microBatch) {
    step(kind, transfer, microBatch);
    pending.insert({transfer, microBatch});
  }

  void wait(int transfer, int microBatch) {
    if (pending.erase({transfer, microBatch}) > 0)
      step(ScheduleStep::Kind::wait, transfer, microBatch);
  }

  void load(int microBatch) {
    if (loaded != microBatch)
      step(ScheduleStep::Kind::load, -1, microBatch);
    loaded = microBatch;
  }

  void step(ScheduleStep::Kind kind, int transfer, int microBatch,
            std::string function = {}) {
    schedule.steps.push_back({kind, std::move(function), transfer, microBatch});
  }

  ir::Module& stage;
  ir::Schedule schedule;
  std::map<ValueId, std::string> lastReader;
  std::set<std::pair<std::string, int>> done;
  std::set<std::pair<int, int>> begun;   // transfers that receive
  std::set<std::pair<int, int>> pending; // begun and not waited for
  int loaded = -1;
};

/// What happens once, when the weights are there.
void addPrepare(ir::Module& stage) {
  if (!ir::findFunction(stage, "prepare"))
    return;
  ScheduleBuilder prepare(stage, "prepare");
  prepare.run("prepare");
  prepare.finish();
}

void addTrain(ir::Module& stage, const std::vector<Pass>& order, int chunks) {
  ScheduleBuilder train(stage, "train");
  train.run("begin");
  std::vector<Run> runs;
  for (const Pass& pass : order)
    runs.push_back({chunkFunction(pass.isBackward ? "backward" : "forward",
                                  pass.chunk, chunks),
                    pass.microBatch});
  train.runAll(std::move(runs));
  train.run("update");
  train.finish();
}

void addEvaluate(ir::Module& stage, int chunks) {
  ScheduleBuilder evaluate(stage, "evaluate");
  evaluate.run("evaluate_begin");
  std::vector<Run> runs;
  for (int chunk = 0; chunk < chunks; ++chunk)
    runs.push_back({chunkFunction("evaluate", chunk, chunks), 0});
  evaluate.runAll(std::move(runs));
  evaluate.run("evaluate_end");
  evaluate.finish();
}

/// The value that a stage waits to overwrite while those that are to receive it
/// wait for the stage; none where every stage comes to its end.
struct Overwritten {
  int stage = 0;
  ValueId value = ValueId::none;
};
std::optional<Overwritten>
findOverwritten(const std::vector<ir::Module>& stages) {
  const cost::Timeline timeline = cost::simulate(
      stages, "train", [](int, const ir::Function&, bool) { return 1.0; },
      [](int, const Transfer&) { return 0.0; });
  for (const cost::Blocked& blocked : timeline.deadlock) {
    const Transfer& transfer =
        stages[size_t(blocked.stage)].transfers[size_t(blocked.transfer)];
    if (transfer.kind == Transfer::Kind::send)
      return Overwritten{blocked.stage, transfer.value};
  }
  assert(timeline.deadlock.empty() && "the order of the passes is at fault");
  return std::nullopt;
}

Pipeline pipelineOf(const recipe::Recipe& recipe) {
  Pipeline pipeline;
  pipeline.kind = recipe.string("parallel.schedule");
  pipeline.stages = int(recipe.integer("parallel.pp"));
  pipeline.chunks = int(recipe.integer("parallel.vp"));
  pipeline.microBatches = int(recipe.integer("batch.accumulation"));
  return pipeline;
}

} // namespace

void addSchedules(std::vector<ir::Module>& stages,
                  const recipe::Recipe& recipe) {
  const Pipeline pipeline = pipelineOf(recipe);
  std::vector<std::vector<Pass>> orders;
  for (ir::Module& stage : stages) {
    orders.push_back(pipelineOrder(pipeline, stage.stage));
    Slots(stage, orders.back(), pipeline.chunks).run();
    addPrepare(stage);
    addTrain(stage, orders.back(), pipeline.chunks);
    addEvaluate(stage, pipeline.chunks);
  }
  while (const auto overwritten = findOverwritten(stages)) {
    ir::Module& stage = stages[size_t(overwritten->stage)];
    ++stage[overwritten->value].slots;
    addTrain(stage, orders[size_t(overwritten->stage)], pipeline.chunks);
  }
  assignLinks(stages);
}

} // namespace recipec::passes
