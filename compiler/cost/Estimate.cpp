// Memory by category, and a roofline model of the time (Williams et al. 2009).
//
// An op takes the longer of its FLOPs at the device's peak and its traffic at
// the memory bandwidth. A collective takes the time of a ring over the link.
// Ops run one after another; transfers between stages, collectives with a start
// and a done op, and copies to and from the host overlap them. The
// step is the simulated schedule `train` of all stages. Real kernels stay below
// the roof, so the time is a lower bound that a good implementation approaches.

#include "compiler/cost/Estimate.h"

#include "compiler/cost/Connections.h"
#include "compiler/cost/Device.h"
#include "compiler/cost/Flops.h"
#include "compiler/cost/Timeline.h"
#include "compiler/recipe/Task.h"
#include "runtime/ops/MoveOps.h"
#include "runtime/ops/OpTable.h"
#include "runtime/ops/QuantizationOps.h"
#include "runtime/sizes/Lanes.h"

#include <algorithm>
#include <map>
#include <set>

namespace recipec::cost {
namespace {

bool isNarrowMatmul(const ir::Op& op) {
  return op.kind == ir::OpKind::ScaledMatmul ||
         op.kind == ir::OpKind::ScaledMatmulAdd;
}

/// The number of equal-sized operands that an op reads to quantize. The amax
/// history follows them.
int valuesToQuantize(ir::OpKind kind) {
  switch (kind) {
  case ir::OpKind::Quantize:
    return 1;
  case ir::OpKind::SwigluQuantize:
    return 2;
  case ir::OpKind::SwigluBackwardQuantize:
    return 3;
  default:
    return 0;
  }
}

/// The rank's average bytes of a range of a sharded buffer.
double bytesOfPart(const ir::Module& program, const ir::Op& op) {
  const ops::ShardAmaxAttributes attributes(op.attributes);
  const double elements =
      double(attributes.count) / double(ir::sizeOf(program, op.group));
  int64_t bytes = ir::byteSize(program[op.operands[0]].type);
  if (op.kind == ir::OpKind::QuantizeShard)
    bytes += ir::byteSize(program[op.results[0]].type);
  return elements * double(bytes);
}

double trafficOf(const ir::Module& program, const ir::Op& op) {
  if (op.kind == ir::OpKind::ShardAmax || op.kind == ir::OpKind::QuantizeShard)
    return bytesOfPart(program, op);
  double bytes = 0;
  for (const auto* list : {&op.operands, &op.results})
    for (ir::ValueId value : *list)
      if (value != ir::ValueId::none)
        bytes += double(ir::localBytes(program, value));
  // A scale per tensor without an amax history needs a first pass over the
  // elements.
  const int read = valuesToQuantize(op.kind);
  if (!op.attributes.contains("blocks") && read > 0 &&
      op.operands[size_t(read)] == ir::ValueId::none)
    bytes += read * double(ir::localBytes(program, op.operands[0]));
  return bytes;
}

/// The bytes that a rank sends to the next one.
double shiftBytes(const ir::Module& program, const ir::Op& shift) {
  double bytes = 0;
  for (ir::ValueId sent : shift.operands)
    if (sent != ir::ValueId::none)
      bytes += double(ir::localBytes(program, sent));
  return bytes;
}

/// Seconds of a ring collective (Thakur et al. 2005) over the group.
double collectiveSeconds(const ir::Module& program, const ir::Op& op,
                         const Device& device) {
  if (op.kind == ir::OpKind::RingShiftStart)
    return shiftBytes(program, op) / device.linkBandwidth;
  double ranks = double(ir::sizeOf(program, op.group));
  double whole = double(std::max(ir::localBytes(program, op.operands[0]),
                                 ir::localBytes(program, op.results[0])));
  // The buffers of expert rows have the capacity for everything that the group
  // can send. On average one share per rank holds tokens.
  if (op.kind == ir::OpKind::AllToAll && op.operands[1] != ir::ValueId::none)
    whole /= ranks;
  double rounds = op.kind == ir::OpKind::AllReduce ? 2 : 1;
  return rounds * (ranks - 1) / ranks * whole / device.linkBandwidth;
}

double secondsOf(const ir::Module& program, const ir::Op& op,
                 const Device& device) {
  if (op.kind == ir::OpKind::View || op.attributes.flag("nothing"))
    return 0;
  if (ops::traitsOf(op.kind).isCollective)
    return collectiveSeconds(program, op, device);
  return std::max(localFlops(program, op) /
                      (isNarrowMatmul(op) ? device.narrowFlops : device.flops),
                  trafficOf(program, op) / device.bandwidth);
}

/// What is computed again counts once.
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

/// The cost of one run of a function.
struct Run {
  double seconds = 0;
  double communication = 0; // seconds of it that only communicate
};

/// Collectives that have started run one after another on the link and overlap
/// the other ops until their end op. Copies between device and host use their
/// own link.
Run runOf(const ir::Module& stage, const ir::Function& function,
          const Device& device) {
  double seconds = 0, communication = 0, link = 0, hostLink = 0;
  std::map<ir::ValueId, double> arrivals;
  for (const ir::Op& op : function.ops) {
    const ops::Traits& traits = ops::traitsOf(op.kind);
    if (traits.isCollective && traits.starts) {
      link = std::max(link, seconds) + secondsOf(stage, op, device);
      arrivals[op.results[0]] = link;
    } else if (traits.isCollective && traits.finishes) {
      double arrival = std::max(seconds, arrivals.at(op.operands[0]));
      communication += arrival - seconds;
      seconds = arrival;
    } else if (op.kind == ir::OpKind::CopyBegin) {
      hostLink =
          std::max(hostLink, seconds) +
          double(ir::localBytes(stage, op.results[0])) / device.hostBandwidth;
      arrivals[op.results[0]] = hostLink;
    } else if (op.kind == ir::OpKind::CopyEnd) {
      seconds = std::max(seconds, arrivals.at(op.results[0]));
    } else {
      double taken = secondsOf(stage, op, device);
      seconds += taken;
      communication += traits.isCollective ? taken : 0;
    }
  }
  return {seconds, communication};
}

/// The functions of each stage by name.
using Runs = std::vector<std::map<std::string, Run>>;

Runs runsOf(const std::vector<ir::Module>& stages, const Device& device) {
  Runs runs(stages.size());
  for (size_t i = 0; i < stages.size(); ++i)
    for (const ir::Function& function : stages[i].functions)
      runs[i][function.name] = runOf(stages[i], function, device);
  return runs;
}

Timeline trainTimeline(const std::vector<ir::Module>& stages, const Runs& runs,
                       const Device& device) {
  return simulate(
      stages, "train",
      [&](int stage, const ir::Function& function) {
        return runs[size_t(stage)].at(function.name).seconds;
      },
      [&](int stage, const ir::Transfer& transfer) {
        return double(ir::localBytes(stages[size_t(stage)], transfer.value)) /
               device.linkBandwidth;
      });
}

/// The fraction of the step in which a stage only communicates, averaged over
/// the stages. Time that a stage waits for another counts as bubble.
double communicationFraction(const Timeline& timeline, const Runs& runs) {
  double seconds = 0;
  for (size_t stage = 0; stage < timeline.stages.size(); ++stage)
    for (const Interval& interval : timeline.stages[stage])
      seconds += runs[stage].at(interval.function).communication;
  return seconds / timeline.end / double(timeline.stages.size());
}

/// Steps of the whole run; 0 when they follow from the data set's size.
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

int64_t rankCount(const ir::Module& program) {
  int64_t ranks = 1;
  for (const ir::Axis& axis : program.axes)
    ranks *= axis.size;
  return ranks;
}

/// A master kept as lower halves (u16) is written in full.
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

/// GPUs reserve a deeper stack for kernels that may print an error (measured on
/// an H200: 62 MiB more than models without them). NCCL's kernels already
/// reserve a stack of that depth.
int64_t stackBytes(const ir::Module& program) {
  constexpr int64_t mebibyte = int64_t(1) << 20;
  for (const ir::Function& function : program.functions)
    for (const ir::Op& op : function.ops)
      if (op.kind == ir::OpKind::Dispatch ||
          op.kind == ir::OpKind::AttentionPaged)
        return 62 * mebibyte;
  return 0;
}

/// GPUs that serve run independent matmuls on lanes beside the plan's stream.
int64_t laneBytes(const recipe::Recipe& recipe) {
  namespace sizes = reciperun::sizes;
  return recipe::serves(recipe)
             ? (sizes::servingLanes - 1) * sizes::laneScratchBytes
             : 0;
}

} // namespace

MemoryTable memoryTable(const ir::Module& program,
                        const ir::Connections* connections,
                        const recipe::Recipe& recipe) {
  MemoryTable table;
  std::map<std::string, int64_t*> columns = {
      {"parameters", &table.parameters},   {"gradients", &table.gradients},
      {"optimizer", &table.optimizer},     {"cache", &table.cache},
      {"activations", &table.activations}, {"workspace", &table.workspace},
  };
  // Placements are sorted by address and cover the arena: each byte belongs to
  // the category of the last placement that begins at or before it.
  for (size_t i = 0; i < program.placements.size(); ++i) {
    const ir::Placement& placement = program.placements[i];
    int64_t end = i + 1 < program.placements.size()
                      ? program.placements[i + 1].offset
                      : program.arenaBytes;
    *columns.at(placement.category) += end - placement.offset;
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

std::function<double(const ir::Op&)> opSeconds(const ir::Module& program,
                                               const recipe::Recipe& recipe) {
  return [&program, device = deviceOf(program, recipe)](const ir::Op& op) {
    return secondsOf(program, op, device);
  };
}

StepTimes stepTimes(const std::vector<ir::Module>& stages,
                    const recipe::Recipe& recipe) {
  const Device device = deviceOf(stages[0], recipe);
  const Runs runs = runsOf(stages, device);
  StepTimes times{trainTimeline(stages, runs, device), {}};
  for (size_t i = 0; i < stages.size(); ++i) {
    std::map<std::string, std::map<ops::OpFamily, double>> ofFunctions;
    for (const ir::Function& function : stages[i].functions)
      for (const ir::Op& op : function.ops)
        if (!ops::traitsOf(op.kind).isCollective)
          ofFunctions[function.name][ops::infoOf(op.kind).family] +=
              secondsOf(stages[i], op, device);
    StageTime& stage = times.stages.emplace_back();
    stage.waiting = times.timeline.end;
    for (const Interval& interval : times.timeline.stages[i]) {
      const double communication = runs[i].at(interval.function).communication;
      stage.communication += communication;
      stage.waiting -= communication;
      for (const auto& [family, seconds] : ofFunctions[interval.function]) {
        stage.busy[family] += seconds;
        stage.waiting -= seconds;
      }
    }
    stage.waiting = std::max(0.0, stage.waiting);
  }
  return times;
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
  Runs runs = runsOf(stages, device);
  Timeline timeline = trainTimeline(stages, runs, device);
  estimate.ranks = int(rankCount(stages[0]));
  estimate.layersPerChunk = layersPerChunk(stages);
  estimate.flopsPerStep = stepFlops(stages);
  double peak = std::max(device.flops, device.narrowFlops);
  estimate.peakFlops = peak;
  estimate.stepSeconds = timeline.end;
  estimate.bubble = bubbleFraction(timeline);
  if (timeline.end <= 0)
    return estimate;
  estimate.communication = communicationFraction(timeline, runs);
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
