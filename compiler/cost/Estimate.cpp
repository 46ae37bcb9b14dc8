// Memory by category, and the figures of a step from its predicted time.

#include "compiler/cost/Estimate.h"

#include "compiler/cost/Collectives.h"
#include "compiler/cost/Connections.h"
#include "compiler/cost/Device.h"
#include "compiler/cost/Flops.h"
#include "compiler/cost/Prediction.h"
#include "compiler/cost/Roofline.h"
#include "compiler/cost/Timeline.h"
#include "compiler/cost/Traffic.h"
#include "compiler/recipe/Task.h"
#include "runtime/ops/OpKind.h"
#include "runtime/sizes/Lanes.h"

#include <algorithm>
#include <map>
#include <set>

namespace recipec::cost {
namespace {

/// Whether an op only recomputes a forward op, whose FLOPs count once.
bool runsAgain(const ir::Function& function, const ir::Op& op) {
  return function.name.starts_with("backward") &&
         (op.kind == ir::OpKind::Linear || op.kind == ir::OpKind::LinearAdd ||
          op.kind == ir::OpKind::LinearJoint ||
          op.kind == ir::OpKind::Attention ||
          op.kind == ir::OpKind::AttentionBlock ||
          op.kind == ir::OpKind::ExpertLinear ||
          op.kind == ir::OpKind::CausalConv ||
          op.kind == ir::OpKind::StateScan ||
          (isNarrowMatmul(op) &&
           op.attributes.contains("fast"))); // a recomputed forward matmul
}

/// FLOPs of the whole job in one step: the ranks of a stage share the FLOPs of
/// each run of its functions.
double stepFlops(const std::vector<ir::Module>& stages) {
  double total = 0;
  for (const ir::Module& stage : stages) {
    std::map<std::string, double> costs;
    for (const ir::Function& function : stage.functions)
      for (const ir::Op& op : function.ops)
        if (!runsAgain(function, op))
          costs[function.name] += wholeFlops(stage, op);
    for (const ir::Schedule& schedule : stage.schedules)
      if (schedule.name == "train")
        for (const ir::ScheduleStep& step : schedule.steps)
          if (step.kind == ir::ScheduleStep::Kind::run)
            total += costs[step.function];
  }
  return total;
}

/// Adds the stages' fractions of the step, averaged over the stages.
void addShares(Estimate& estimate, const Prediction& prediction) {
  const double all = prediction.timeline.end * double(prediction.stages.size());
  for (const StageTime& stage : prediction.stages) {
    for (const auto& [work, seconds] : stage.work)
      estimate.work[work] += seconds / all;
    for (const auto& [kind, seconds] : stage.exposed)
      estimate.exposed[kind] += seconds / all;
    estimate.communication += stage.communication() / all;
    estimate.copies += stage.copies / all;
  }
}

/// The steps of the whole run; 0 when they depend on the data set's size.
double trainSteps(const recipe::Recipe& recipe) {
  const recipe::Value* steps = recipe.find("train.total_steps");
  return steps && !steps->isNone() ? recipe.real("train.total_steps") : 0;
}

/// Layers per chunk in the order of the model: the first chunk of each stage,
/// then the second chunks, and so on.
std::vector<int64_t> layersPerChunk(const std::vector<ir::Module>& stages) {
  std::map<std::pair<int, int>, std::set<int>> layers; // by chunk and stage
  for (const ir::Module& stage : stages)
    for (const ir::Function& function : stage.functions)
      if (function.name.starts_with("forward") ||
          function.name.starts_with("step")) {
        std::set<int>& chunk = layers[{function.chunk, stage.stage}];
        for (const ir::Op& op : function.ops)
          if (op.layer >= 0)
            chunk.insert(op.layer);
      }
  std::vector<int64_t> counts;
  for (const auto& [chunk, numbers] : layers)
    counts.push_back(int64_t(numbers.size()));
  return counts;
}

/// The bytes of a value in a checkpoint. A master copy that is kept as lower
/// halves (u16) is written in full.
int64_t writtenBytes(const ir::Module& program, ir::ValueId value) {
  if (value == ir::ValueId::none)
    return 0;
  int64_t bytes = ir::localBytes(program, value);
  return program[value].type == ir::DType::u16 ? 2 * bytes : bytes;
}

/// The amax histories: the state operands of ops that quantize.
std::set<ir::ValueId> amaxHistoriesOf(const ir::Module& program) {
  std::set<ir::ValueId> histories;
  for (const ir::Function& function : program.functions)
    for (const ir::Op& op : function.ops)
      if (valuesToQuantize(op.kind) > 0)
        for (ir::ValueId operand : op.operands)
          if (operand != ir::ValueId::none &&
              program[operand].kind == ir::ValueKind::state)
            histories.insert(operand);
  return histories;
}

/// The most that a rank writes into a checkpoint: its shards of weights and
/// moments, amax histories, and unsharded frozen parameters in full.
int64_t stateBytes(const ir::Module& program) {
  int64_t bytes = 0;
  for (ir::ValueId history : amaxHistoriesOf(program))
    bytes += ir::localBytes(program, history);
  std::set<ir::ParamId> inParts;
  for (const ir::Region& region : program.regions) {
    for (ir::ValueId value : {region.master, region.momentM, region.momentV})
      bytes += writtenBytes(program, value);
    inParts.insert(region.params.begin(), region.params.end());
  }
  for (size_t i = 0; i < program.params.size(); ++i)
    if (!program.params[i].trainable && !inParts.contains(ir::ParamId(i)))
      bytes += ir::localBytes(program, program.params[i].value);
  return bytes;
}

bool stagesCheckpoints(const recipe::Recipe& recipe) {
  return !recipe::serves(recipe) && !recipe.at("checkpoint.every").isNone() &&
         recipe.boolean("checkpoint.async");
}

/// The bytes of a deeper stack, which GPUs reserve for kernels that may print
/// an error (measured on an H200: 62 MiB more than for models without them).
/// NCCL's kernels already reserve a stack of that depth.
int64_t stackBytes(const ir::Module& program) {
  constexpr int64_t mebibyte = int64_t(1) << 20;
  for (const ir::Function& function : program.functions)
    for (const ir::Op& op : function.ops)
      if (op.kind == ir::OpKind::Dispatch ||
          op.kind == ir::OpKind::AttentionPaged)
        return 62 * mebibyte;
  return 0;
}

/// The scratch memory of a server's lanes, which run independent matmuls
/// concurrently with the plan's stream.
int64_t laneBytes(const recipe::Recipe& recipe) {
  namespace sizes = reciperun::sizes;
  return recipe::serves(recipe)
             ? (sizes::servingLanes - 1) * sizes::laneScratchBytes
             : 0;
}

/// The begin and end of the workspace; {0, 0} without one.
std::pair<int64_t, int64_t> workspaceRange(const ir::Module& program) {
  const auto found =
      std::ranges::find(program.placements, "workspace",
                        [](const ir::Placement& each) -> std::string_view {
                          return each.category;
                        });
  if (found == program.placements.end())
    return {0, 0};
  return {found->offset, found->offset + found->bytes};
}

} // namespace

MemoryTable memoryTable(const ir::Module& program,
                        const ir::Connections* connections,
                        const recipe::Recipe& recipe) {
  MemoryTable table;
  std::map<std::string, int64_t*> columns = {
      {"parameters", &table.parameters},   {"gradients", &table.gradients},
      {"optimizer", &table.optimizer},     {"cache", &table.cache},
      {"activations", &table.activations}, {"workspace", &table.activations},
  };
  // Placements are sorted by address and cover the arena: each byte belongs to
  // the category of the last placement that begins at or before it. The bytes
  // of the workspace belong to it, although activations of other times share
  // them.
  const auto [workspaceBegin, workspaceEnd] = workspaceRange(program);
  for (size_t i = 0; i < program.placements.size(); ++i) {
    const ir::Placement& placement = program.placements[i];
    int64_t end = i + 1 < program.placements.size()
                      ? program.placements[i + 1].offset
                      : program.arenaBytes;
    const int64_t ofWorkspace =
        std::max<int64_t>(0, std::min(end, workspaceEnd) -
                                 std::max(placement.offset, workspaceBegin));
    table.workspace += ofWorkspace;
    *columns.at(placement.category) += end - placement.offset - ofWorkspace;
  }
  table.library = recipe.count("cluster.hardware.library");
  if (recipe.string("cluster.hardware.kind") == "cuda")
    table.library +=
        std::max(connections ? connectionBytes(*connections, program.stage) : 0,
                 stackBytes(program)) +
        laneBytes(recipe);
  table.arena = program.arenaBytes;
  table.total = table.arena + table.library;
  if (stagesCheckpoints(recipe))
    table.host = stateBytes(program);
  table.offloaded = program.hostBytes;
  if (recipe.string("cluster.hardware.kind") == "cpu")
    table.total += table.host + table.offloaded;
  table.capacity = recipe.count("cluster.hardware.memory");
  return table;
}

int64_t draftBytes(const ir::Module& draft, const recipe::Recipe& recipe) {
  return memoryTable(draft, nullptr, recipe).total -
         recipe.count("cluster.hardware.library");
}

const MemoryTable& fullest(const std::vector<MemoryTable>& stages) {
  return *std::ranges::max_element(stages, {}, &MemoryTable::total);
}

Estimate estimate(const std::vector<ir::Module>& stages,
                  const std::optional<ir::Connections>& connections,
                  const recipe::Recipe& recipe) {
  Estimate estimate;
  Device device = deviceOf(stages[0], recipe);
  for (const ir::Module& stage : stages)
    estimate.stages.push_back(
        memoryTable(stage, connections ? &*connections : nullptr, recipe));
  estimate.memory = fullest(estimate.stages);
  const Prediction prediction = predict(stages, recipe);
  const Timeline& timeline = prediction.timeline;
  estimate.ranks = int(rankCount(stages[0]));
  estimate.layersPerChunk = layersPerChunk(stages);
  estimate.flopsPerStep = stepFlops(stages);
  double peak = std::max(device.flops, device.narrowFlops);
  estimate.peakFlops = peak;
  estimate.stepSeconds = timeline.end;
  estimate.bubble = bubbleFraction(timeline);
  if (timeline.end <= 0)
    return estimate;
  estimate.uncertainty = prediction.uncertainty;
  estimate.leastStepSeconds = leastStepSeconds(stages, recipe);
  addShares(estimate, prediction);
  estimate.trainSteps = trainSteps(recipe);
  double tokens = double(recipe.integer("batch.global")) *
                  double(recipe.integer("data.sequence"));
  double ranks = double(estimate.ranks);
  estimate.tokensPerSecondPerRank = tokens / timeline.end / ranks;
  estimate.tflopsPerRank = estimate.flopsPerStep / timeline.end / ranks / 1e12;
  estimate.mfu = estimate.flopsPerStep / (timeline.end * ranks * peak);
  return estimate;
}

} // namespace recipec::cost
