// Groups parameters into flat regions and writes the optimizer step.
//
// 1. Group trainable parameters by weight decay, by the axes that split them
// and
//    by those over which their gradients are partial sums, so that one op
//    treats a whole group alike (Region).
// 2. Lay the members of a region one behind the other; pad so that the parts of
//    the ranks that share it are equal and aligned. The state that the
//    optimizer keeps (master copy, moments) exists for the rank's part alone:
//    Rajbhandari et al. 2020, "ZeRO", stage 1. Gradients that are partial sums
//    over more than the data axes (norms under sequence parallelism) are shared
//    by all of them.
// 3. `begin`: zero gradients, loss and norm.
// 4. `update`: complete the gradients, take the norm of the whole gradient,
//    step, gather the parameters.
// 5. `evaluate_begin`, `evaluate_end`: zero and reduce the loss alone.

#include "compiler/passes/Optimizer.h"

#include "compiler/passes/Names.h"

#include <algorithm>
#include <cassert>
#include <string>

namespace recipec::passes {
namespace {

using ir::AxisSet;
using ir::Op;
using ir::OpKind;
using ir::ValueId;
using ir::ValueKind;

int64_t roundUp(int64_t number, int64_t multiple) {
  return (number + multiple - 1) / multiple * multiple;
}

/// Elements in `bufferAlignment` bytes of the narrowest buffer of a region,
/// which is the one in the compute type.
int64_t alignmentElements(const ir::Module& program) {
  return bufferAlignment / ir::byteSize(program.compute);
}

/// All axes that have more than one rank.
AxisSet world(const ir::Module& program) {
  AxisSet axes;
  for (size_t i = 0; i < program.axes.size(); ++i)
    if (program.axes[i].size > 1)
      axes = axes | AxisSet(ir::AxisId(i));
  return axes;
}

AxisSet splitAxes(const ir::Value& value) {
  AxisSet axes;
  for (AxisSet dim : value.sharding.dims)
    axes = axes | dim;
  return axes;
}

class OptimizerPass {
public:
  OptimizerPass(ir::Module& program, const recipe::Recipe& recipe)
      : program(program), recipe(recipe), names(program),
        worldAxes(world(program)), pipeline(ir::findAxis(program, "pp")) {}

  void run();

private:
  void groupParameters();
  void layOut(ir::Region& region);
  ir::Region& regionOf(const ir::Param& param);
  std::string regionName(const ir::Param& param) const;

  void addScalars();
  void addReduction();
  void addOverStages(const ir::Region& region);
  void addNorm();
  void addStep();
  void addLossFunctions();

  ValueId addValue(const std::string& name, ValueKind kind, ir::DType type,
                   std::vector<ir::DimId> dims, ir::Sharding sharding);
  ValueId addScalar(const std::string& name, ValueKind kind, ir::DType type);
  Op op(OpKind kind, std::string name, std::vector<ValueId> operands,
        std::vector<ValueId> results) const;
  Op sum(std::string name, ValueId from, ValueId to, AxisSet group) const;
  void zero(ir::Function& function, ValueId value) const;

  ir::Module& program;
  const recipe::Recipe& recipe;
  Names names;
  AxisSet worldAxes;
  ir::AxisId pipeline;
  /// Axes over which the state of the optimizer is copied rather than shared.
  AxisSet instanceAxes;
  ValueId rankLoss = ValueId::none; // this rank's part of the loss
  ValueId rankNorm = ValueId::none;
  ValueId norm = ValueId::none;
};

// ---- values and ops

ValueId OptimizerPass::addValue(const std::string& name, ValueKind kind,
                                ir::DType type, std::vector<ir::DimId> dims,
                                ir::Sharding sharding) {
  ir::Value value;
  value.name = names.make(name);
  value.kind = kind;
  value.type = type;
  value.dims = std::move(dims);
  value.sharding = std::move(sharding);
  return ir::addValue(program, std::move(value));
}

ValueId OptimizerPass::addScalar(const std::string& name, ValueKind kind,
                                 ir::DType type) {
  return addValue(name, kind, type, {}, {});
}

Op OptimizerPass::op(OpKind kind, std::string name,
                     std::vector<ValueId> operands,
                     std::vector<ValueId> results) const {
  Op op;
  op.kind = kind;
  op.name = std::move(name);
  op.operands = std::move(operands);
  op.results = std::move(results);
  op.range = recipe.at("optimizer").origin.range;
  return op;
}

void OptimizerPass::zero(ir::Function& function, ValueId value) const {
  function.ops.push_back(op(OpKind::Zero, program[value].name, {}, {value}));
}

// ---- regions

std::string OptimizerPass::regionName(const ir::Param& param) const {
  std::string name = param.decay ? "decay" : "no_decay";
  AxisSet split = splitAxes(program[param.value]);
  AxisSet sums = program[param.gradient].sharding.partial;
  if (!split.empty())
    name += "." + ir::groupName(program, split);
  if (!sums.empty())
    name += ".sum." + ir::groupName(program, sums);
  for (int stage : param.sharers)
    name += ".stage" + std::to_string(stage);
  return name;
}

ir::Region& OptimizerPass::regionOf(const ir::Param& param) {
  std::string name = regionName(param);
  for (ir::Region& region : program.regions)
    if (region.name == name)
      return region;
  ir::Region region;
  region.name = std::move(name);
  program.regions.push_back(std::move(region));
  return program.regions.back();
}

void OptimizerPass::groupParameters() {
  for (size_t i = 0; i < program.params.size(); ++i)
    if (program.params[i].trainable)
      regionOf(program.params[i]).params.push_back(ir::ParamId(i));
  for (ir::Region& region : program.regions)
    layOut(region);
}

void OptimizerPass::layOut(ir::Region& region) {
  const ir::Param& first = program[region.params.front()];
  const ir::Param& last = program[region.params.back()];
  AxisSet split = splitAxes(program[first.value]);
  AxisSet sums = program[first.gradient].sharding.partial;
  region.shard = sums - instanceAxes;
  int64_t end = memberOffsets(program, region).back() +
                ir::localElements(program, last.value);
  region.elements = roundUp(end, ir::sizeOf(program, region.shard) *
                                     alignmentElements(program));

  std::string base = "region." + region.name;
  std::vector<ir::DimId> dims = {
      ir::addDim(program, base, region.elements * ir::sizeOf(program, split))};
  ir::DType wide = ir::accumulationType(program.compute);

  ir::Sharding whole{{split}, {}};
  ir::Sharding unreduced{{split}, sums};
  ir::Sharding part{{split | region.shard}, {}};

  region.param =
      addValue(base, ValueKind::parameter, program.compute, dims, whole);
  region.gradient =
      addValue(base + ".gradient", ValueKind::gradient, wide, dims, unreduced);
  region.gradientPart = region.gradient;
  if (!sums.empty()) {
    // Scattered first, then completed over the replicas where it lies.
    ir::Sharding scattered = part;
    if (!region.shard.empty())
      scattered.partial = sums - region.shard;
    region.gradientPart = addValue(base + ".gradient_sum", ValueKind::gradient,
                                   wide, dims, scattered);
  }
  region.paramPart = region.param;
  if (!region.shard.empty())
    region.paramPart = addValue(base + ".part", ValueKind::parameter,
                                program.compute, dims, part);
  region.master = region.paramPart;
  if (program.compute != wide)
    region.master =
        addValue(base + ".master", ValueKind::state, wide, dims, part);
  region.momentM = addValue(base + ".m", ValueKind::state, wide, dims, part);
  region.momentV = addValue(base + ".v", ValueKind::state, wide, dims, part);
}

// ---- functions

void OptimizerPass::addScalars() {
  rankLoss = program.bindings.at("loss");
  ValueId loss = rankLoss;
  if (!program[rankLoss].sharding.partial.empty())
    loss = addScalar("loss_sum", ValueKind::state, ir::DType::f64);
  rankNorm = addScalar("norm_squared", ValueKind::state, ir::DType::f64);
  program[rankNorm].sharding.partial = worldAxes;
  norm = rankNorm;
  if (!worldAxes.empty())
    norm = addScalar("norm_squared_sum", ValueKind::state, ir::DType::f64);
  program.bindings.erase("logits"); // no one reads them while training
  program.bindings["loss"] = loss;
  program.bindings["norm_squared"] = norm;
  program.bindings["learning_rate"] =
      addScalar("learning_rate", ValueKind::input, ir::DType::f32);
  program.bindings["step"] =
      addScalar("step", ValueKind::input, ir::DType::i32);

  ir::Function& begin = ir::obtainFunction(program, "begin");
  for (const ir::Region& region : program.regions)
    zero(begin, region.gradient);
  zero(begin, rankLoss);
  zero(begin, rankNorm);
}

void OptimizerPass::addReduction() {
  ir::Function& update = ir::obtainFunction(program, "update");
  for (const ir::Region& region : program.regions) {
    addOverStages(region);
    AxisSet sums = program[region.gradient].sharding.partial;
    ValueId from = region.gradient, to = region.gradientPart;
    if (!region.shard.empty()) {
      Op scatter = op(OpKind::ReduceScatter, program[from].name, {from}, {to});
      scatter.attributes["dim"] = int64_t(0);
      scatter.group = region.shard;
      update.ops.push_back(std::move(scatter));
      from = to;
    }
    if (AxisSet copies = sums - region.shard; !copies.empty())
      update.ops.push_back(
          sum(program[region.gradient].name, from, to, copies));
  }
}

/// Stages that share parameters each have gradients of them.
void OptimizerPass::addOverStages(const ir::Region& region) {
  const std::vector<int>& sharers = program[region.params.front()].sharers;
  if (sharers.empty())
    return;
  Op reduce = sum(program[region.gradient].name, region.gradient,
                  region.gradient, AxisSet(pipeline));
  std::vector<std::string> list;
  for (int stage : sharers)
    list.push_back(std::to_string(stage));
  reduce.attributes["stages"] = std::move(list);
  ir::obtainFunction(program, "update").ops.push_back(std::move(reduce));
}

/// An all-reduce.
Op OptimizerPass::sum(std::string name, ValueId from, ValueId to,
                      AxisSet group) const {
  Op reduce = op(OpKind::AllReduce, std::move(name), {from}, {to});
  reduce.attributes["reduce"] = std::string("sum");
  reduce.group = group;
  return reduce;
}

void OptimizerPass::addNorm() {
  ir::Function& update = ir::obtainFunction(program, "update");
  for (const ir::Region& region : program.regions) {
    // Ranks that hold the same part each add its squares to the sum.
    // Other stages hold other parameters, or are among the sharers.
    AxisSet copies =
        worldAxes - AxisSet(pipeline) - splitAxes(program[region.gradientPart]);
    size_t sharers =
        std::max<size_t>(1, program[region.params.front()].sharers.size());
    Op squares = op(OpKind::SumSquares, program[region.gradient].name,
                    {region.gradientPart}, {rankNorm});
    squares.attributes["scale"] =
        1.0 / double(ir::sizeOf(program, copies) * int64_t(sharers));
    update.ops.push_back(std::move(squares));
  }
  if (!worldAxes.empty())
    update.ops.push_back(sum("norm_squared", rankNorm, norm, worldAxes));
}

void OptimizerPass::addStep() {
  ir::Function& update = ir::obtainFunction(program, "update");
  ValueId rate = program.bindings.at("learning_rate");
  ValueId step = program.bindings.at("step");
  const auto& betas = std::get<recipe::List>(recipe.at("optimizer.betas").data);
  auto beta = [&](size_t i) {
    const int64_t* whole = std::get_if<int64_t>(&betas[i].data);
    return whole ? double(*whole) : std::get<double>(betas[i].data);
  };
  for (const ir::Region& region : program.regions) {
    bool decays = program[region.params.front()].decay;
    Op adamw =
        op(OpKind::AdamW, program[region.param].name,
           {region.gradientPart, norm, rate, step},
           {region.paramPart, region.master, region.momentM, region.momentV});
    adamw.attributes["beta1"] = beta(0);
    adamw.attributes["beta2"] = beta(1);
    adamw.attributes["eps"] = recipe.real("optimizer.eps");
    adamw.attributes["weight_decay"] =
        decays ? recipe.real("optimizer.weight_decay") : 0.0;
    adamw.attributes["clip"] = recipe.real("optimizer.clip");
    update.ops.push_back(std::move(adamw));
  }
  for (const ir::Region& region : program.regions) {
    if (region.shard.empty())
      continue;
    Op gather = op(OpKind::AllGather, program[region.param].name,
                   {region.paramPart}, {region.param});
    gather.attributes["dim"] = int64_t(0);
    gather.group = region.shard;
    update.ops.push_back(std::move(gather));
  }
}

void OptimizerPass::addLossFunctions() {
  auto reduceLoss = [&](ir::Function& function) {
    AxisSet sums = program[rankLoss].sharding.partial;
    if (!sums.empty())
      function.ops.push_back(
          sum("loss", rankLoss, program.bindings.at("loss"), sums));
  };
  reduceLoss(ir::obtainFunction(program, "update"));
  bool isEvaluated =
      std::any_of(program.functions.begin(), program.functions.end(),
                  [](const ir::Function& function) {
                    return function.name.starts_with("evaluate");
                  });
  if (!isEvaluated)
    return;
  zero(ir::obtainFunction(program, "evaluate_begin"), rankLoss);
  reduceLoss(ir::obtainFunction(program, "evaluate_end"));
}

void OptimizerPass::run() {
  if (recipe.string("parallel.shard") == "none")
    instanceAxes = worldAxes;
  else
    instanceAxes = ir::axesOf(program, "instances");
  groupParameters();
  addScalars();
  addReduction();
  addNorm();
  addStep();
  addLossFunctions();
}

} // namespace

std::vector<int64_t> memberOffsets(const ir::Module& program,
                                   const ir::Region& region) {
  std::vector<int64_t> offsets;
  int64_t next = 0;
  for (ir::ParamId param : region.params) {
    offsets.push_back(next);
    next += roundUp(ir::localElements(program, program[param].value),
                    alignmentElements(program));
  }
  return offsets;
}

void addOptimizer(ir::Module& program, const recipe::Recipe& recipe) {
  OptimizerPass(program, recipe).run();
}

} // namespace recipec::passes
