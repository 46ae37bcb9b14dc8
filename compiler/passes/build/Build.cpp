// Recipe → Graph.
//
// 1. Number the dimensions: `batch`, `sequence`, then the model's.
// 2. Turn each call of the traced model into an op, in the order of the trace.
//    Parameters are made at their first use, with the recipe's compute type and
//    the call's name. Inputs that a model does not mention (positions,
//    segments, places, samples) are added when an op reads them.
// 3. Infer dimensions op by op. A call that depends on a failed one is skipped
//    without another message.
// 4. For training, append the loss: the sum of weights * nll * loss_scale. The
//    nll comes from the maximum and the sum over the vocabulary (softmax_max,
//    softmax_sum, nll), so that it can be sharded without gathering logits.

#include "compiler/passes/build/Build.h"

#include "compiler/passes/build/CallAttributes.h"
#include "compiler/passes/build/GraphBuilder.h"
#include "compiler/passes/build/InferDims.h"
#include "compiler/passes/build/Inputs.h"
#include "compiler/recipe/Format.h"
#include "runtime/ops/OpTable.h"

#include <cassert>
#include <cmath>
#include <limits>

namespace recipec::passes {

using ir::DimId;
using ir::OpKind;
using ir::ValueId;

ir::Module GraphBuilder::run() {
  header();
  dims();
  tensors.assign(size_t(recipe.model.tensorCount), ValueId::none);
  for (std::string_view role : inputRoles())
    names.make(std::string(role)); // reserved: no op of the model takes it
  tensorOf(recipe.model.tokens) = input("tokens");
  findFurther();
  for (size_t i = 0; i < recipe.model.calls.size(); ++i)
    if (extent.loss || !isFurther[i])
      build(recipe.model.calls[i]);
  output();
  return std::move(module);
}

// ---- the frame

void GraphBuilder::header() {
  module.name = recipe.name;
  module.axes = extent.mesh.axes;
  module.degrees = extent.mesh.degrees;
  const std::string& compute = recipe.string("precision.compute");
  module.compute = compute == "fp64"   ? ir::DType::f64
                   : compute == "fp32" ? ir::DType::f32
                                       : ir::DType::bf16;
  module.functions.push_back({"forward", {}});
}

void GraphBuilder::dims() {
  SourceRange batch, sequence;
  if (const recipe::Value* value = recipe.find("batch.micro"))
    batch = value->origin.range;
  if (const recipe::Value* value = recipe.find("data.sequence"))
    sequence = value->origin.range;
  ir::addDim(module, "batch", extent.batch, batch);
  ir::addDim(module, "sequence", extent.sequence, sequence);
  for (const recipe::Dim& dim : recipe.model.dims)
    modelDims.push_back(ownDim(dim));
}

DimId GraphBuilder::ownDim(const recipe::Dim& dim) {
  std::string name = dim.name;
  if (name == "batch" || name == "sequence" || name == placesDim ||
      name == scoresDim || name == groupsDim || name == blocksDim ||
      name == membersDim || name == packedDim)
    name = "model." + name;
  return ir::addDim(module, name, dim.size, dim.origin.range);
}

ValueId GraphBuilder::input(std::string_view role) {
  return obtainInput(module, role);
}

ValueId& GraphBuilder::tensorOf(recipe::TensorId id) {
  return tensors[size_t(id)];
}

DimId GraphBuilder::dimOf(recipe::DimId id) const {
  return modelDims[size_t(id)];
}

std::vector<DimId>
GraphBuilder::dimsOf(const std::vector<recipe::DimId>& ids) const {
  std::vector<DimId> result;
  for (recipe::DimId id : ids)
    result.push_back(dimOf(id));
  return result;
}

// ---- parameters

ValueId GraphBuilder::param(const recipe::Call& call, std::vector<DimId> dims,
                            ir::Initializer init, bool decay, size_t hfFirst) {
  std::vector<int64_t> shape = groupedShape(dims, hfFirst);
  return namedParam(call, "weight", std::move(dims), std::move(init), decay,
                    std::move(shape));
}

ValueId GraphBuilder::namedParam(const recipe::Call& call,
                                 const std::string& part,
                                 std::vector<DimId> dims, ir::Initializer init,
                                 bool decay, std::vector<int64_t> hfShape) {
  ir::Param param;
  param.name = names.make(call.name + "." + part);
  param.init = std::move(init);
  param.decay = decay;
  param.hfName = call.hfName + "." + part;
  param.hfShape = std::move(hfShape);
  param.value = ir::addValue(module, {param.name,
                                      ir::ValueKind::parameter,
                                      module.compute,
                                      std::move(dims),
                                      {},
                                      call.range});
  module.params.push_back(std::move(param));
  return module.params.back().value;
}

std::vector<int64_t> GraphBuilder::groupedShape(const std::vector<DimId>& dims,
                                                size_t first) const {
  std::vector<int64_t> shape;
  if (first == 0) {
    for (DimId dim : dims)
      shape.push_back(module[dim].size);
    return shape;
  }
  shape = {1, 1};
  for (size_t i = 0; i < dims.size(); ++i)
    shape[i < first ? 0 : 1] *= module[dims[i]].size;
  return shape;
}

// ---- calls

namespace {

/// The op of a library call. Most calls are named after their op.
std::optional<OpKind> kindOf(std::string_view call) {
  if (call == "position_embedding")
    return OpKind::Embedding;
  if (call == "l2norm")
    return OpKind::RmsNorm;
  if (call == "select")
    return OpKind::Narrow;
  return ops::findOp(call);
}

bool hasBias(const recipe::Call& call) {
  const recipe::Value* bias = call.find("bias");
  return bias && std::get<bool>(bias->data);
}

} // namespace

void GraphBuilder::build(const recipe::Call& call) {
  if (!checkExternalName(call))
    return;
  if (call.op == "parameter")
    return buildParameter(call);
  if (call.op == "router")
    return buildRouter(call);
  if (call.op == "mamba2")
    return buildStateSpace(call);
  if (call.op == "next_tokens")
    return buildNextTokens(call);
  if (call.op == "further_loss")
    return buildFurtherLoss(call);
  std::optional<OpKind> kind = kindOf(call.op);
  assert(kind && "stdlib/ops.recipe declares an op that runtime/ops lacks");
  ir::Op op{};
  op.kind = *kind;
  op.layer = call.layer;
  op.range = call.range;
  if (!operands(call, op))
    return;
  size_t contracted = 0;
  if (!complete(call, op, contracted))
    return;
  op.name = names.make(nameOf(call, op));
  results(op);
  if (!inferDims(module, op, contracted, engine) || !nameDims(call, op))
    return;
  if (op.kind == OpKind::Dispatch)
    layRows(call, op);
  followRows(op);
  tensorOf(call.result) = op.results[0];
  module.functions[0].ops.push_back(op);
  if (op.kind == OpKind::Dispatch)
    packRows(call, op);
  if (op.kind == OpKind::Attention)
    cutValues(call, op);
  if (hasBias(call))
    addBias(call, op,
            op.kind == OpKind::Linear
                ? module[op.operands[1]].dims.size() - contracted
                : 1);
}

void GraphBuilder::buildParameter(const recipe::Call& call) {
  std::vector<DimId> dims;
  for (const recipe::Value& dim :
       std::get<recipe::List>(at(call, "shape").data))
    dims.push_back(dimOf(std::get<recipe::DimValue>(dim.data).dim));
  bool decay = decays(call, dims.size() > 1);
  tensorOf(call.result) =
      param(call, std::move(dims), initializer(call), decay, 0);
}

bool GraphBuilder::complete(const recipe::Call& call, ir::Op& op,
                            size_t& contracted) {
  switch (op.kind) {
  case OpKind::Linear:
    return linear(call, op, contracted);
  case OpKind::Embedding:
    return call.op != "position_embedding" || positions(call, op);
  case OpKind::RmsNorm:
  case OpKind::LayerNorm:
    norm(call, op);
    return true;
  case OpKind::Rope:
    op.attributes =
        ropeAttributes(call, module[module[op.operands[0]].dims.back()].size);
    op.operands.push_back(input("positions"));
    return true;
  case OpKind::PositionScale:
    op.operands.push_back(input("positions"));
    for (const char* name : {"floor", "scale"})
      op.attributes[name] = real(call, name);
    return true;
  case OpKind::Gelu:
    if (std::get<std::string>(at(call, "approximate").data) == "none")
      op.attributes["exact"] = true;
    return true;
  case OpKind::Softcap:
    op.attributes["cap"] = real(call, "cap");
    return true;
  case OpKind::Attention:
    return attention(call, op);
  case OpKind::Dispatch:
    return dispatch(call, op);
  case OpKind::ExpertLinear:
    return expertLinear(call, op, contracted);
  case OpKind::Combine:
    return combine(call, op);
  case OpKind::Scale:
    op.attributes["alpha"] = real(call, "alpha");
    return true;
  case OpKind::Dropout:
    op.operands.push_back(input("samples"));
    op.operands.push_back(input("places"));
    dropout(call, op);
    return true;
  default:
    return true;
  }
}

bool GraphBuilder::linear(const recipe::Call& call, ir::Op& op,
                          size_t& contracted) {
  const auto& mapping = std::get<recipe::DimsMapping>(at(call, "dims").data);
  contracted = mapping.from.size();
  std::vector<DimId> dims = dimsOf(mapping.to);
  for (recipe::DimId dim : mapping.from)
    dims.push_back(dimOf(dim));
  if (op.operands.size() == 2)
    return checkWeight(call, op.operands[1], dims);
  op.operands.push_back(param(call, std::move(dims), initializer(call),
                              decays(call, true), mapping.to.size()));
  return true;
}

void GraphBuilder::norm(const recipe::Call& call, ir::Op& op) {
  op.attributes["eps"] = real(call, "eps");
  if (call.op == "l2norm") {
    op.operands.push_back(ValueId::none);
    return;
  }
  bool isCentered = std::get<bool>(at(call, "centered").data);
  if (isCentered)
    op.attributes["centered"] = true;
  if (op.operands.size() == 1)
    op.operands.push_back(param(call, {module[op.operands[0]].dims.back()},
                                {isCentered ? "zeros" : "ones", 0.0},
                                decays(call, false), 0));
}

bool GraphBuilder::positions(const recipe::Call& call, ir::Op& op) {
  op.operands[0] = input("positions");
  DimId rows = module[op.operands[1]].dims.front();
  int64_t tokens = recipe.count("data.sequence"); // also the tokens of a cache
  if (module[rows].size >= tokens)
    return true;
  std::string size = std::to_string(module[rows].size);
  diag::Builder report = engine.report(
      diag::Kind::ShapeMismatch, recipe.at("data.sequence").origin.range,
      "a sequence of " + std::to_string(tokens) +
          " tokens has more positions than the table's `" + module[rows].name +
          "` = " + size);
  if (module[rows].range.isValid())
    report.label(module[rows].range, "the table has " + size + " rows");
  report.note("the model reads the table here", call.range)
      .propose({"change `data.sequence` to ",
                {{size, {"data.sequence=" + size}}},
                ""})
      .otherwise("shorten `data.sequence` to " + size +
                 " or less, or make the table longer");
  return false;
}

/// The bias is an op of its own: a matmul with a split contraction gives a
/// partial sum, and the bias is added once, after the reduction.
void GraphBuilder::addBias(const recipe::Call& call, const ir::Op& op,
                           size_t width) {
  std::vector<DimId> dims = module[op.results[0]].dims;
  dims.erase(dims.begin(), dims.end() - long(width));
  int64_t size = 1;
  for (DimId dim : dims)
    size *= module[dim].size;
  ir::Op made{};
  made.kind = OpKind::AddBias;
  made.layer = call.layer;
  made.range = call.range;
  made.operands = {op.results[0],
                   namedParam(call, "bias", std::move(dims), {"zeros", 0.0},
                              decays(call, false), {size})};
  made.name = names.make(op.name + ".biased");
  addResult(made, made.name);
  bool fits = inferDims(module, made, 0, engine);
  assert(fits && "a bias has the dimensions of what it is added to");
  (void)fits;
  followRows(made);
  tensorOf(call.result) = made.results[0];
  module.functions[0].ops.push_back(std::move(made));
}

bool GraphBuilder::checkWeight(const recipe::Call& call, ValueId weight,
                               const std::vector<DimId>& dims) {
  if (module[weight].dims == dims)
    return true;
  engine
      .report(diag::Kind::ShapeMismatch, call.range,
              "the weight `" + module[weight].name + "` has dimensions " +
                  listed(module[weight].dims) + ", and this `" + call.op +
                  "` takes " + listed(dims))
      .note("the weight is made here", module[weight].range)
      .help("make the weight with the dimensions " + listed(dims) +
            ", or leave it out: the `" + call.op + "` then makes its own");
  return false;
}

std::string GraphBuilder::listed(const std::vector<DimId>& dims) const {
  std::string text = "[";
  for (size_t i = 0; i < dims.size(); ++i)
    text += (i ? ", `" : "`") + module[dims[i]].name + "`";
  return text + "]";
}

bool GraphBuilder::attention(const recipe::Call& call, ir::Op& op) {
  if (!padValues(call, op))
    return false;
  // Chunks are counted from a document's first token. Within a document, places
  // and positions have the same order.
  const char* places = at(call, "chunk").isNone() ? "places" : "positions";
  // For the queries, then for the keys: sharding may split them differently.
  for (const char* role : {"segments", places, "segments", places})
    op.operands.push_back(input(role));
  for (const char* bound : {"window", "chunk", "softcap"}) {
    const recipe::Value& value = at(call, bound);
    if (value.isNone())
      continue;
    if (std::string_view(bound) == "softcap")
      op.attributes[bound] = real(value);
    else // places are 32-bit integers
      op.attributes[bound] = std::min<int64_t>(
          std::get<int64_t>(value.data), std::numeric_limits<int32_t>::max());
  }
  const recipe::Value& scale = at(call, "scale");
  int64_t width = module[module[op.operands[0]].dims.back()].size;
  op.attributes["scale"] =
      scale.isAuto() ? 1.0 / std::sqrt(double(width)) : real(scale);
  op.attributes["causal"] = std::get<bool>(at(call, "causal").data);
  return true;
}

void GraphBuilder::dropout(const recipe::Call& call, ir::Op& op) {
  double p = real(call, "p");
  if (!(p >= 0 && p < 1))
    engine
        .report(diag::Kind::InvalidValue, at(call, "p").origin.range,
                "`p` = " + recipe::formatValue(at(call, "p"), {}) +
                    " is not a probability below 1")
        .help("write 0 or more and less than 1");
  op.attributes["p"] = p;
  op.attributes["seed"] = recipe.integer("train.seed");
  op.attributes["stream"] = dropouts++;
}

// ---- names and results

std::string GraphBuilder::nameOf(const recipe::Call& call,
                                 const ir::Op& op) const {
  if (!call.name.empty())
    return call.name;
  if (op.kind == OpKind::Embedding)
    return call.op;
  size_t last = call.operands.size() - 1;
  const std::string& operand = module[op.operands[last]].name;
  if (last == 0 || weightPlace(op.kind) > 0)
    return join(module[op.operands[0]].name, call.op);
  return join(scopeOf(operand), call.op);
}

void GraphBuilder::results(ir::Op& op) {
  addResult(op, op.name);
  if (op.kind == OpKind::LayerNorm)
    addResult(op, names.make(op.name + ".mean"));
  if (op.kind == OpKind::RmsNorm || op.kind == OpKind::LayerNorm)
    addResult(op, names.make(op.name + ".rstd"));
  if (op.kind == OpKind::Attention)
    addResult(op, names.make(op.name + ".lse"));
  if (op.kind == OpKind::Dispatch)
    for (const char* part : {".rows", ".counts"})
      addResult(op, names.make(op.name + part));
  if (op.kind == OpKind::StateScan)
    addResult(op, names.make(op.name + ".states"));
}

void GraphBuilder::addResult(ir::Op& op, std::string name) {
  op.results.push_back(ir::addValue(module, {std::move(name),
                                             ir::ValueKind::temporary,
                                             module.compute,
                                             {},
                                             {},
                                             op.range}));
}

// ---- the end

void GraphBuilder::output() {
  ValueId logits = tensorOf(recipe.model.output);
  if (logits == ValueId::none || engine.hasErrors())
    return;
  const ir::Value& value = module[logits];
  const auto& tokens = module[module.bindings.at("tokens")].dims;
  if (value.kind == ir::ValueKind::parameter || value.dims.size() != 3 ||
      !std::equal(tokens.begin(), tokens.end(), value.dims.begin())) {
    engine
        .report(diag::Kind::ShapeMismatch, value.range,
                "`forward` returns logits [batch, sequence, vocabulary], and "
                "not " +
                    listed(value.dims))
        .help("end the model with a `linear` to the vocabulary");
    return;
  }
  const recipe::Value* vocab = recipe.find("model.vocab");
  const int64_t width = module[value.dims[2]].size;
  if (vocab && recipe.count("model.vocab") > width) {
    const std::string name = module[value.dims[2]].name;
    engine
        .report(diag::Kind::ShapeMismatch, value.range,
                "`forward` returns `" + name + "` = " + std::to_string(width) +
                    " numbers a token, and the model's `vocab` = " +
                    std::to_string(recipe.count("model.vocab")) +
                    " token ids need a logit each")
        .label(vocab->origin.range, "`vocab` is given here")
        .help("end the model with a `linear` to the vocabulary: `linear(x, " +
              name + " -> vocab, name = \"lm_head\")`");
    return;
  }
  if (!extent.loss) {
    module.bindings["logits"] = logits;
    return;
  }
  loss("loss", logits, input("labels"), input("weights"));
  if (further != ValueId::none)
    loss("further_loss", further, input("further_labels"),
         input("further_weights"));
}

void GraphBuilder::loss(const std::string& sum, ValueId logits, ValueId labels,
                        ValueId weights) {
  ValueId max = lossOp(OpKind::SoftmaxMax, sum + ".max", {logits});
  ValueId stats =
      lossOp(OpKind::SoftmaxSum, sum + ".stats", {logits, max, labels});
  lossOp(OpKind::Nll, sum, {max, stats, weights, input("loss_scale")},
         boundSum(sum, {}));
}

ValueId GraphBuilder::lossSum() {
  return boundSum("loss", {});
}

ValueId GraphBuilder::sum(const std::string& name, std::vector<DimId> dims) {
  return ir::addValue(module, {names.make(name),
                               ir::ValueKind::state,
                               ir::DType::f64,
                               std::move(dims),
                               {},
                               recipe.range});
}

ValueId GraphBuilder::boundSum(const std::string& role,
                               std::vector<DimId> dims) {
  auto bound = module.bindings.find(role);
  if (bound != module.bindings.end())
    return bound->second;
  return module.bindings[role] = sum(role, std::move(dims));
}

ValueId GraphBuilder::lossOp(OpKind kind, const std::string& name,
                             std::vector<ValueId> operands, ValueId result) {
  ir::Op op{};
  op.kind = kind;
  op.operands = std::move(operands);
  op.range = module[op.operands[0]].range;
  if (result == ValueId::none) {
    op.name = names.make(name);
    addResult(op, op.name);
  } else {
    op.name = name;
    op.results.push_back(result);
  }
  bool fits = inferDims(module, op, 0, engine);
  assert(fits && "the loss fits the logits");
  (void)fits;
  module.functions[0].ops.push_back(op);
  return op.results[0];
}

Extent trainingExtent(const recipe::Recipe& recipe) {
  Extent extent;
  extent.mesh = meshOf(recipe);
  extent.batch = recipe.integer("batch.micro") * recipe.integer("parallel.dp");
  extent.sequence = recipe.count("data.sequence");
  return extent;
}

ir::Module build(const recipe::Recipe& recipe, const Extent& extent,
                 diag::Engine& engine) {
  return GraphBuilder(recipe, extent, engine).run();
}

} // namespace recipec::passes
