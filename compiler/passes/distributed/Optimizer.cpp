// Groups parameters into flat regions and writes the optimizer step.
//
// 1. Group trainable parameters into regions (Region), so that one op can
//    process a whole group: by weight decay, by the axes that split them, and
//    by the axes of their gradients' partial sums. When ranks keep only shards
//    of gradients or parameters, the groups are buckets: one per layer group
//    (LayerGroups.h), and one per parameter outside of layers. Frozen
//    parameters are then grouped as well. Matrices are also grouped by layer
//    when their collectives overlap the last backward pass and the optimizer
//    (OverlapUpdate.h). Parameters that are gathered in fp8 (GatherInFp8.h) get
//    groups of their own. A group of more bytes than `comm.bucket` becomes
//    several regions.
// 2. Lay out the members of a region one after another, each at a multiple of
//    the alignment. Pad the region so that the ranks' shards are equal and
//    aligned. A rank keeps optimizer state (master copy, moments) only for its
//    shard: Rajbhandari et al. 2020, "ZeRO", stage 1; without the full gradient
//    stage 2, without the full parameters stage 3. Of parameters that are
//    gathered in fp8, the full copy exists only in fp8. Gradients that are
//    partial sums over more than the data axes (norms under sequence
//    parallelism) are sharded over all of them.
// 3. `begin`: clear gradients, loss and norm.
// 4. `update`: reduce the gradients in the reduction type, compute the norm of
//    the whole gradient, step, all-gather the parameters.
// 5. `evaluate_begin`, `evaluate_end`: clear and reduce only the loss.

#include "compiler/passes/distributed/Optimizer.h"

#include "compiler/passes/ValueNames.h"
#include "compiler/passes/distributed/LayerGroups.h"
#include "compiler/passes/distributed/Overlap.h"
#include "compiler/passes/precision/GatherInFp8.h"
#include "compiler/passes/precision/StoredTypes.h"

#include "runtime/ops/OpKind.h"
#include "runtime/plan/Plan.h"

#include <algorithm>
#include <cassert>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace recipec::passes {
namespace {

using ir::AxisSet;
using ir::Op;
using ir::OpKind;
using ir::ValueId;
using ir::ValueKind;
using reciperun::plan::bufferAlignment;

/// The default size of the buckets of collectives that run once a step. Between
/// H200s, smaller collectives do not reach the link's bandwidth; larger ones
/// take more memory while in flight.
constexpr int64_t defaultBucketBytes = int64_t(128) << 20;

int64_t roundUp(int64_t number, int64_t multiple) {
  return (number + multiple - 1) / multiple * multiple;
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
      : program(program), recipe(recipe), types(recipe), names(program),
        worldAxes(world(program)), pipeline(ir::findAxis(program, "pp")) {}

  void run();

private:
  void groupParameters();
  bool isGrouped(const ir::Param& param) const;
  AxisSet shardOf(const ir::Param& param) const;
  bool isNarrow(const ir::Param& param) const;
  int64_t alignmentElements(const ir::Region& region) const;
  void layOut(ir::Region& region);
  void layMembers(ir::Region& region);
  void addOptimizerState(ir::Region& region, const ir::Sharding& part);
  void addMaster(ir::Region& region, const ir::Sharding& part);
  ir::Region& regionOf(const ir::Param& param);
  bool hasRoom(const ir::Region& region, const ir::Param& param) const;
  bool isInBuckets(const ir::Param& param) const;
  std::string regionName(const ir::Param& param) const;

  void addScalars();
  static ValueId accumulated(const ir::Region& region);
  void addReduction();
  ValueId addCast(const ir::Region& region);
  void addOverStages(const ir::Region& region, ValueId gradient);
  void addNorm();
  void addStep();
  void addLossFunctions();

  ValueId addValue(const std::string& name, ValueKind kind, ir::DType type,
                   std::vector<ir::DimId> dims, ir::Sharding sharding);
  ValueId addScalar(const std::string& name, ValueKind kind, ir::DType type);
  Op op(OpKind kind, std::string name, std::vector<ValueId> operands,
        std::vector<ValueId> results) const;
  Op allReduce(std::string name, ValueId from, ValueId to, AxisSet group) const;
  void zero(ir::Function& function, ValueId value) const;

  ir::Module& program;
  const recipe::Recipe& recipe;
  StoredTypes types;
  ValueNames names;
  AxisSet worldAxes;
  ir::AxisId pipeline;
  /// Axes over which the optimizer state is replicated, not sharded.
  AxisSet instanceAxes;
  bool hasGradientParts = false; // ranks keep only shards of gradients
  bool hasParamParts = false;
  std::optional<LayerGroups> layers;  // set when there are buckets
  std::set<ValueId> narrow;           // parameters gathered in fp8
  std::optional<int64_t> bucketBytes; // maximum bytes of a bucket
  std::map<std::string, std::vector<size_t>> regionsOfKind;
  std::vector<const ir::Region*> trained;
  std::vector<ValueId> reduced; // gradients of `trained` after all reductions
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

/// Whether the parameter's region is one of the layer buckets. If gradients are
/// not sharded, small parameters and those without communication share other
/// regions.
bool OptimizerPass::isInBuckets(const ir::Param& param) const {
  return layers && (hasGradientParts ||
                    (param.decay && !param.adapter && !shardOf(param).empty()));
}

std::string OptimizerPass::regionName(const ir::Param& param) const {
  std::string name = !param.trainable ? "frozen"
                     : param.decay    ? "decay"
                                      : "no_decay";
  AxisSet split = splitAxes(program[param.value]);
  if (!split.empty())
    name += "." + ir::groupName(program, split);
  AxisSet sums;
  if (param.trainable)
    sums = program[param.gradient].sharding.partial;
  if (!sums.empty())
    name += ".sum." + ir::groupName(program, sums);
  for (int stage : param.sharers)
    name += ".stage" + std::to_string(stage);
  if (isNarrow(param))
    name += ".fp8";
  if (!isInBuckets(param))
    return name;
  int layer = layers->of(param.value);
  return name + (layer == LayerGroups::none ? "." + param.name
                                            : ".layer" + std::to_string(layer));
}

/// The last region of the parameter's kind, or a new one if the last one is
/// full.
ir::Region& OptimizerPass::regionOf(const ir::Param& param) {
  std::string name = regionName(param);
  std::vector<size_t>& all = regionsOfKind[name];
  if (!all.empty() && hasRoom(program.regions[all.back()], param))
    return program.regions[all.back()];
  ir::Region region;
  region.name =
      all.empty() ? name : name + "." + std::to_string(all.size() + 1);
  region.shard = shardOf(param);
  all.push_back(program.regions.size());
  program.regions.push_back(std::move(region));
  return program.regions.back();
}

bool OptimizerPass::hasRoom(const ir::Region& region,
                            const ir::Param& param) const {
  int64_t bytes = ir::localBytes(program, param.value);
  for (ir::ParamId member : region.params)
    bytes += ir::localBytes(program, program[member].value);
  const bool isWithinDefault =
      hasGradientParts || !isInBuckets(param) || bytes <= defaultBucketBytes;
  return bucketBytes ? bytes <= *bucketBytes : isWithinDefault;
}

void OptimizerPass::groupParameters() {
  for (size_t i = 0; i < program.params.size(); ++i)
    if (isGrouped(program.params[i]))
      regionOf(program.params[i]).params.push_back(ir::ParamId(i));
  for (ir::Region& region : program.regions)
    layOut(region);
}

/// Frozen parameters are grouped when they are sharded. The bias that balances
/// experts is replicated.
bool OptimizerPass::isGrouped(const ir::Param& param) const {
  return param.trainable ||
         (hasParamParts && !param.balances && !shardOf(param).empty());
}

/// The axes that shard the parameter's region. For a trainable parameter these
/// are the axes over which its gradient is summed, and for a frozen one the
/// data axes that do not split it.
AxisSet OptimizerPass::shardOf(const ir::Param& param) const {
  AxisSet alike =
      param.trainable
          ? program[param.gradient].sharding.partial
          : (ir::axesOf(program, "dp") | ir::axesOf(program, "cp")) -
                splitAxes(program[param.value]);
  return alike - instanceAxes;
}

bool OptimizerPass::isNarrow(const ir::Param& param) const {
  return narrow.contains(param.value) && !shardOf(param).empty();
}

/// The alignment of members in elements: `bufferAlignment` bytes of the
/// region's smallest type, which is fp8 if it has an fp8 buffer and else the
/// compute type.
int64_t OptimizerPass::alignmentElements(const ir::Region& region) const {
  bool hasBytes = isNarrow(program[region.params.front()]);
  return bufferAlignment /
         ir::byteSize(hasBytes ? ir::DType::f8e4m3 : program.compute);
}

void OptimizerPass::layMembers(ir::Region& region) {
  const int64_t alignment = alignmentElements(region);
  int64_t end = 0;
  for (ir::ParamId param : region.params) {
    region.starts.push_back(roundUp(end, alignment));
    end =
        region.starts.back() + ir::localElements(program, program[param].value);
  }
  region.elements = roundUp(end, ir::sizeOf(program, region.shard) * alignment);
}

void OptimizerPass::layOut(ir::Region& region) {
  layMembers(region);
  AxisSet split = splitAxes(program[program[region.params.front()].value]);
  std::string base = "region." + region.name;
  ir::DimId dim =
      ir::addDim(program, base, region.elements * ir::sizeOf(program, split));
  ir::Sharding whole{{split}, {}};
  ir::Sharding part{{split | region.shard}, {}};
  auto add = [&](const std::string& name, ir::DType type,
                 const ir::Sharding& sharding) {
    return addValue(name, ValueKind::parameter, type, {dim}, sharding);
  };
  const bool isInFp8 = isNarrow(program[region.params.front()]);
  if (region.shard.empty() || (!hasParamParts && !isInFp8))
    region.param = add(base, program.compute, whole);
  region.paramPart = region.param;
  if (!region.shard.empty())
    region.paramPart = add(base + ".part", program.compute, part);
  if (isInFp8)
    region.narrowPart = add(base + ".fp8_part", ir::DType::f8e4m3, part);
  if (isInFp8 && !hasParamParts) {
    region.narrow = add(base + ".fp8_gathered", ir::DType::f8e4m3, whole);
    region.narrowParams.resize(region.params.size(), ValueId::none);
  }
  region.master = region.paramPart;
  if (program[region.params.front()].trainable)
    addOptimizerState(region, part);
}

void OptimizerPass::addOptimizerState(ir::Region& region,
                                      const ir::Sharding& part) {
  std::string base = "region." + region.name;
  std::vector<ir::DimId> dims = program[region.paramPart].dims;
  AxisSet sums =
      program[program[region.params.front()].gradient].sharding.partial;
  auto add = [&](const std::string& suffix, ValueKind kind, ir::DType type,
                 const ir::Sharding& sharding) {
    return addValue(base + suffix, kind, type, dims, sharding);
  };
  for (ir::ParamId param : region.params)
    program[program[param].gradient].type = types.gradients;
  if (!hasGradientParts || region.shard.empty()) {
    ir::Sharding unreduced{{part.dims[0] - region.shard}, sums};
    region.gradient =
        add(".gradient", ValueKind::gradient, types.gradients, unreduced);
  }
  region.gradientPart = region.gradient;
  if (!sums.empty()) {
    // Reduce-scattered first, then all-reduced over the replicas in place.
    ir::Sharding scattered = part;
    if (!region.shard.empty())
      scattered.partial = sums - region.shard;
    // The sum is written over the gradient, unless the types differ.
    bool isApart =
        region.gradient != ValueId::none && types.reduction != types.gradients;
    region.gradientPart = isApart ? add(".gradient_sum", ValueKind::temporary,
                                        types.reduction, scattered)
                                  : add(".gradient_sum", ValueKind::gradient,
                                        types.gradients, scattered);
  }
  addMaster(region, part);
  region.momentM = add(".m", ValueKind::state, types.moments, part);
  region.momentV = add(".v", ValueKind::state, types.moments, part);
}

/// Adds a master copy when the parameters are not precise enough.
void OptimizerPass::addMaster(ir::Region& region, const ir::Sharding& part) {
  ir::DType wide = ir::accumulationType(program.compute);
  const std::string& form = recipe.string("precision.master");
  if (program.compute == wide || form == "bf16")
    return;
  bool isRemainder = form == "bf16+remainder";
  region.master =
      addValue("region." + region.name + (isRemainder ? ".rest" : ".master"),
               ValueKind::state, isRemainder ? ir::DType::u16 : wide,
               program[region.paramPart].dims, part);
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
  program.bindings.erase("logits"); // not read in training
  program.bindings["loss"] = loss;
  program.bindings["norm_squared"] = norm;
  program.bindings["learning_rate"] =
      addScalar("learning_rate", ValueKind::input, ir::DType::f32);
  program.bindings["step"] =
      addScalar("step", ValueKind::input, ir::DType::i32);

  ir::Function& begin = ir::obtainFunction(program, "begin");
  for (const ir::Region* region : trained)
    zero(begin, accumulated(*region));
  zero(begin, rankLoss);
  zero(begin, rankNorm);
}

/// The gradients that accumulate over the micro-batches.
ValueId OptimizerPass::accumulated(const ir::Region& region) {
  return region.gradient == ValueId::none ? region.gradientPart
                                          : region.gradient;
}

void OptimizerPass::addReduction() {
  ir::Function& update = ir::obtainFunction(program, "update");
  for (const ir::Region* region : trained) {
    ValueId sum = addCast(*region);
    addOverStages(*region, sum);
    AxisSet sums = program[sum].sharding.partial;
    AxisSet scattered = sums & region->shard;
    if (!scattered.empty()) {
      Op scatter = op(OpKind::ReduceScatter, program[sum].name, {sum},
                      {region->gradientPart});
      scatter.attributes["dim"] = int64_t(0);
      scatter.group = scattered;
      update.ops.push_back(std::move(scatter));
      sum = region->gradientPart;
    }
    if (AxisSet copies = sums - region->shard; !copies.empty()) {
      bool isWhole = region->gradient != ValueId::none && scattered.empty();
      ValueId from = std::exchange(sum, isWhole ? region->gradientPart : sum);
      update.ops.push_back(
          allReduce(program[accumulated(*region)].name, from, sum, copies));
    }
    reduced.push_back(sum);
  }
}

/// The gradient in the type in which ranks or stages reduce it.
ValueId OptimizerPass::addCast(const ir::Region& region) {
  ValueId gradient = accumulated(region);
  bool isSum = !program[gradient].sharding.partial.empty() ||
               !program[region.params.front()].sharers.empty();
  if (!isSum || types.reduction == types.gradients)
    return gradient;
  ir::Value copy = program[gradient];
  copy.name = names.make(copy.name + ".cast");
  copy.kind = ValueKind::temporary;
  copy.type = types.reduction;
  ValueId cast = ir::addValue(program, std::move(copy));
  ir::obtainFunction(program, "update")
      .ops.push_back(
          op(OpKind::Cast, program[gradient].name, {gradient}, {cast}));
  return cast;
}

/// Sums the gradients of parameters that several stages share.
void OptimizerPass::addOverStages(const ir::Region& region, ValueId gradient) {
  const std::vector<int>& sharers = program[region.params.front()].sharers;
  if (sharers.empty())
    return;
  Op reduce =
      allReduce(program[gradient].name, gradient, gradient, AxisSet(pipeline));
  std::vector<std::string> list;
  for (int stage : sharers)
    list.push_back(std::to_string(stage));
  reduce.attributes["stages"] = std::move(list);
  ir::obtainFunction(program, "update").ops.push_back(std::move(reduce));
}

Op OptimizerPass::allReduce(std::string name, ValueId from, ValueId to,
                            AxisSet group) const {
  Op reduce = op(OpKind::AllReduce, std::move(name), {from}, {to});
  reduce.attributes["reduce"] = std::string("sum");
  reduce.group = group;
  return reduce;
}

void OptimizerPass::addNorm() {
  ir::Function& update = ir::obtainFunction(program, "update");
  for (size_t i = 0; i < trained.size(); ++i) {
    const ir::Region* region = trained[i];
    // Every rank with the same shard adds its squares, so they are scaled.
    // Other stages hold other parameters or are among the sharers.
    AxisSet copies =
        worldAxes - AxisSet(pipeline) - splitAxes(program[reduced[i]]);
    size_t sharers =
        std::max<size_t>(1, program[region->params.front()].sharers.size());
    Op squares = op(OpKind::SumSquares, program[accumulated(*region)].name,
                    {reduced[i]}, {rankNorm});
    squares.attributes["scale"] =
        1.0 / double(ir::sizeOf(program, copies) * int64_t(sharers));
    update.ops.push_back(std::move(squares));
  }
  if (!worldAxes.empty())
    update.ops.push_back(allReduce("norm_squared", rankNorm, norm, worldAxes));
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
  for (size_t i = 0; i < trained.size(); ++i) {
    const ir::Region* region = trained[i];
    bool decays = program[region->params.front()].decay;
    Op adamw = op(
        OpKind::AdamW, "region." + region->name, {reduced[i], norm, rate, step},
        {region->paramPart, region->master, region->momentM, region->momentV});
    adamw.attributes["beta1"] = beta(0);
    adamw.attributes["beta2"] = beta(1);
    adamw.attributes["eps"] = recipe.real("optimizer.eps");
    adamw.attributes["weight_decay"] =
        decays ? recipe.real("optimizer.weight_decay") : 0.0;
    adamw.attributes["clip"] = recipe.real("optimizer.clip");
    update.ops.push_back(std::move(adamw));
  }
  for (const ir::Region* region : trained) {
    if (region->shard.empty() || region->param == ValueId::none)
      continue;
    Op gather = op(OpKind::AllGather, program[region->param].name,
                   {region->paramPart}, {region->param});
    gather.attributes["dim"] = int64_t(0);
    gather.group = region->shard;
    update.ops.push_back(std::move(gather));
  }
}

void OptimizerPass::addLossFunctions() {
  auto reduceLoss = [&](ir::Function& function) {
    AxisSet sums = program[rankLoss].sharding.partial;
    if (!sums.empty())
      function.ops.push_back(
          allReduce("loss", rankLoss, program.bindings.at("loss"), sums));
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
  const std::string& shard = recipe.string("parallel.shard");
  instanceAxes = shard == "none" ? worldAxes : ir::axesOf(program, "instances");
  bool isShared = !(worldAxes - AxisSet(pipeline) - instanceAxes).empty();
  hasParamParts = isShared && shard == "parameters";
  hasGradientParts = hasParamParts || (isShared && shard == "gradients");
  if (const recipe::Value& bytes = recipe.at("comm.bucket"); !bytes.isAuto())
    bucketBytes = recipe.count("comm.bucket");
  if (hasGradientParts)
    layers.emplace(program, bucketBytes);
  else if (isShared && overlaps(recipe))
    layers.emplace(program, bucketBytes.value_or(defaultBucketBytes));
  if (isShared)
    narrow = findGatheredInFp8(program);
  groupParameters();
  for (const ir::Region& region : program.regions)
    if (region.gradientPart != ValueId::none)
      trained.push_back(&region);
  addScalars();
  addReduction();
  addNorm();
  addStep();
  addLossFunctions();
}

} // namespace

void addOptimizer(ir::Module& program, const recipe::Recipe& recipe) {
  OptimizerPass(program, recipe).run();
}

} // namespace recipec::passes
