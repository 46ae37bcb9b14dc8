// Groups parameters into flat regions and writes the optimizer step.
//
// 1. Group trainable parameters by weight decay and by the axes that split
//    them, so that one op treats a whole group alike (Region).
// 2. Lay the members of a region one behind the other; pad so that every
//    dp rank's part is equal and aligned. The state that the optimizer keeps
//    (master copy, moments) exists for the rank's part alone: Rajbhandari et
//    al. 2020, "ZeRO", stage 1.
// 3. `begin`: zero gradients, loss and norm.
// 4. `update`: behind what earlier passes put there, reduce gradients over dp,
//    take the norm of the whole gradient, step, gather the parameters.
// 5. `evaluate_begin`, `evaluate_end`: zero and reduce the loss alone.

#include "compiler/passes/Optimizer.h"

#include "compiler/passes/Names.h"

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
        worldAxes(world(program)) {}

  void run();

private:
  void groupParameters();
  void layOut(ir::Region& region);
  ir::Region& regionOf(const ir::Param& param);
  std::string regionName(const ir::Param& param) const;

  void addScalars();
  void addReduction();
  void addNorm();
  void addStep();
  void addLossFunctions();

  ValueId addValue(const std::string& name, ValueKind kind, ir::DType type,
                   std::vector<ir::DimId> dims, ir::Sharding sharding);
  ValueId addScalar(const std::string& name, ValueKind kind, ir::DType type);
  Op op(OpKind kind, std::string name, std::vector<ValueId> operands,
        std::vector<ValueId> results) const;
  void zero(ir::Function& function, ValueId value) const;

  ir::Module& program;
  const recipe::Recipe& recipe;
  Names names;
  AxisSet worldAxes;
  AxisSet dataAxes; // dp, when it has more than one rank
  ir::AxisId shardAxis = ir::AxisId::none;
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
  AxisSet axes = splitAxes(program[param.value]) & worldAxes;
  for (size_t i = 0; i < program.axes.size(); ++i)
    if (axes.contains(ir::AxisId(i)))
      name += "." + program.axes[i].name;
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
  AxisSet split = splitAxes(program[first.value]) & worldAxes;
  int64_t shards = 1;
  if (shardAxis != ir::AxisId::none)
    shards = program[shardAxis].size;
  int64_t end = memberOffsets(program, region).back() +
                ir::localElements(program, last.value);
  region.elements = roundUp(end, shards * alignmentElements(program));
  region.shard = shardAxis;

  std::string base = "region." + region.name;
  std::vector<ir::DimId> dims = {
      ir::addDim(program, base, region.elements * ir::sizeOf(program, split))};
  ir::DType wide = ir::accumulationType(program.compute);

  ir::Sharding whole{{split}, {}};
  ir::Sharding unreduced{{split}, dataAxes};
  ir::Sharding part = whole;
  if (shardAxis != ir::AxisId::none)
    part.dims[0] = part.dims[0] | AxisSet(shardAxis);

  region.param =
      addValue(base, ValueKind::parameter, program.compute, dims, whole);
  region.gradient =
      addValue(base + ".gradient", ValueKind::gradient, wide, dims, unreduced);
  region.gradientPart = region.gradient;
  if (!dataAxes.empty())
    region.gradientPart =
        addValue(base + ".gradient_sum", ValueKind::gradient, wide, dims, part);
  region.paramPart = region.param;
  if (shardAxis != ir::AxisId::none)
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
  if (!dataAxes.empty())
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
  if (dataAxes.empty())
    return;
  ir::Function& update = ir::obtainFunction(program, "update");
  for (const ir::Region& region : program.regions) {
    bool scatter = region.shard != ir::AxisId::none;
    Op reduce = op(scatter ? OpKind::ReduceScatter : OpKind::AllReduce,
                   program[region.gradient].name, {region.gradient},
                   {region.gradientPart});
    if (scatter)
      reduce.attributes["dim"] = int64_t(0);
    else
      reduce.attributes["reduce"] = std::string("sum");
    reduce.group = dataAxes;
    update.ops.push_back(std::move(reduce));
  }
}

void OptimizerPass::addNorm() {
  ir::Function& update = ir::obtainFunction(program, "update");
  for (const ir::Region& region : program.regions) {
    // Ranks that hold the same part each add its squares to the sum.
    AxisSet copies = worldAxes - splitAxes(program[region.gradientPart]);
    Op squares = op(OpKind::SumSquares, program[region.gradient].name,
                    {region.gradientPart}, {rankNorm});
    squares.attributes["scale"] = 1.0 / double(ir::sizeOf(program, copies));
    update.ops.push_back(std::move(squares));
  }
  if (worldAxes.empty())
    return;
  Op reduce = op(OpKind::AllReduce, "norm_squared", {rankNorm}, {norm});
  reduce.attributes["reduce"] = std::string("sum");
  reduce.group = worldAxes;
  update.ops.push_back(std::move(reduce));
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
    if (region.shard == ir::AxisId::none)
      continue;
    Op gather = op(OpKind::AllGather, program[region.param].name,
                   {region.paramPart}, {region.param});
    gather.attributes["dim"] = int64_t(0);
    gather.group = AxisSet(region.shard);
    update.ops.push_back(std::move(gather));
  }
}

void OptimizerPass::addLossFunctions() {
  auto reduceLoss = [&](ir::Function& function) {
    if (dataAxes.empty())
      return;
    Op reduce = op(OpKind::AllReduce, "loss", {rankLoss},
                   {program.bindings.at("loss")});
    reduce.attributes["reduce"] = std::string("sum");
    reduce.group = dataAxes;
    function.ops.push_back(std::move(reduce));
  };
  reduceLoss(ir::obtainFunction(program, "update"));
  if (!ir::findFunction(program, "evaluate"))
    return;
  zero(ir::obtainFunction(program, "evaluate_begin"), rankLoss);
  reduceLoss(ir::obtainFunction(program, "evaluate_end"));
}

void OptimizerPass::run() {
  ir::AxisId dp = ir::findAxis(program, "dp");
  if (dp != ir::AxisId::none && program[dp].size > 1) {
    dataAxes = AxisSet(dp);
    if (recipe.string("parallel.shard") == "optimizer")
      shardAxis = dp;
  }
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
