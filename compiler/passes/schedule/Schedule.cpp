// 1. Order the passes of the stage's chunks (PipelineOrder.h).
// 2. Give slots to every value that outlives its function. A value that the
//    backward pass reads has one per micro-batch in flight, plus one if it is
//    received, so that the next message can arrive meanwhile. A value that is
//    only sent or received has two. A value that is received, added to and sent
//    on in place has three. In a stage with several chunks, the chunks have
//    their most micro-batches in flight one after another. There, values that a
//    backward pass reads and no message sends get no slots but a frame of their
//    chunk (memory/Frames.h).
// 3. Write the steps. For each function: start to receive the inputs of this
//    and the next function if their slots are free and no longer being sent,
//    wait for its inputs from other stages, wait for the sends of values that
//    it overwrites, load the micro-batch, run, start the sends. Receives start
//    before any wait, so that no stage waits for a message that this stage
//    could already receive.
// 4. Simulate the steps of all stages (cost/Timeline.h). In a deadlock, one
//    stage waits to overwrite a value that it has sent: add a slot to that
//    value, rewrite the stage's steps and simulate again. The order of the
//    passes causes no deadlock, so this ends: with a slot per micro-batch no
//    stage waits for a send. Chunks without layers need more slots: a
//    neighbouring stage gets ahead by more micro-batches than the others before
//    it receives their results.
// 5. Assign the links of messages (Links.h).
//
// A server has a schedule for each width of its steps, with the function of the
// width as its only pass: which step is next is known only at run time.

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

  /// When forward and backward of a micro-batch always run one after the other,
  /// saved activations need no slots.
  void saved(const ir::Function& function) {
    int flying = inFlight(order, function.chunk);
    if (flying == 1 && chunks == 1)
      return;
    std::set<ValueId> read = readBy("backward", function.chunk);
    for (const ir::Op& op : function.ops)
      for (ValueId result : op.results)
        if (result != ValueId::none && stage[result].kind == ValueKind::saved &&
            read.contains(result)) {
          if (chunks > 1 && !isTransferred(result))
            stage[result].frameChunk = function.chunk;
          else
            stage[result].slots = flying;
        }
  }

  bool isTransferred(ValueId value) const {
    return std::ranges::any_of(stage.transfers, [&](const Transfer& each) {
      return each.value == value;
    });
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
    if (isKept && chunks > 1 && !isSentFrom(transfer.value)) {
      value.frameChunk = function.chunk;
      return;
    }
    int needed = isKept ? inFlight(order, function.chunk) + 1
                 : isSentFrom(transfer.value) ? 3
                                              : 2;
    value.slots = std::max(value.slots, needed);
  }

  /// Whether a received value is sent on from the same buffer.
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

  /// Runs a function once, without a micro-batch. Skips it when it has no ops.
  void run(const std::string& name) {
    if (hasOps(name))
      step(ScheduleStep::Kind::run, -1, 0, name);
  }

  /// Runs the passes in order, without those that have no ops.
  void runAll(std::vector<Run> runs) {
    std::erase_if(runs, [&](const Run& run) { return !hasOps(run.function); });
    if (runs.empty())
      load(0); // keeps a stage without passes in step with the others
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

  /// Replaces the schedule of this name, if there is one.
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

  /// Finds the last function of a micro-batch that uses each received value.
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

  /// Starts the receives of a run's inputs that have not started and whose
  /// slots are free. A frame is always free: each micro-batch has its own.
  void receive(const Run& run) {
    for (int transfer : transfersOf(run, Transfer::Kind::receive)) {
      if (!begun.insert({transfer, run.microBatch}).second)
        continue;
      int before = run.microBatch - slotsOf(transfer);
      ValueId value = stage.transfers[size_t(transfer)].value;
      if (stage[value].frameChunk >= 0 || before < 0 ||
          done.contains({lastReader.at(value), before})) {
        waitForSends(value, before);
        begin(ScheduleStep::Kind::receive, transfer, run.microBatch);
      } else
        begun.erase({transfer, run.microBatch});
    }
  }

  /// Waits for sends from a slot before it receives again.
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
  std::set<std::pair<int, int>> begun;   // receives
  std::set<std::pair<int, int>> pending; // started and not waited for
  int loaded = -1;
};

/// Adds the schedule that runs once, after the weights are loaded.
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

/// The sent value that a stage waits to overwrite in a deadlock, while the
/// receivers wait for this stage; nullopt without a deadlock.
struct Overwritten {
  int stage = 0;
  ValueId value = ValueId::none;
};
std::optional<Overwritten>
findOverwritten(const std::vector<ir::Module>& stages) {
  const cost::Timeline timeline = cost::simulate(
      stages, "train", [](int, const ir::Function&) { return 1.0; },
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

void addStepSchedules(std::vector<ir::Module>& stages) {
  for (ir::Module& stage : stages) {
    for (const Transfer& transfer : stage.transfers)
      stage[transfer.value].slots = 1;
    for (const ir::Function& function : stage.functions) {
      ScheduleBuilder step(stage, function.name);
      step.runAll({{function.name, 0}});
      step.finish();
    }
  }
  assignLinks(stages);
}

} // namespace recipec::passes
