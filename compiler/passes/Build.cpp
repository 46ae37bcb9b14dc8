// Recipe → Graph.
//
// 1. Number the dimensions: `batch`, `sequence`, then the model's.
// 2. Turn each call of the traced model into an op in the order of the trace.
//    Parameters are made where they are first needed, typed by the recipe's
//    compute type and named by the call. Inputs that a model does not mention
//    (positions, segments, places, samples) join where an op reads them.
// 3. Infer dimensions op by op; a call that depends on one with an error is
//    left out without another message.
// 4. For training append the loss: sum of weights * nll * loss_scale, the nll
//    by maximum and sum over the vocabulary (softmax_max, softmax_sum, nll), so
//    that it can be sharded without gathering logits.

#include "compiler/passes/Build.h"

#include "compiler/passes/CallAttributes.h"
#include "compiler/passes/Experts.h"
#include "compiler/passes/InferDims.h"
#include "compiler/passes/Inputs.h"
#include "compiler/passes/Names.h"
#include "compiler/recipe/Format.h"

#include <cassert>
#include <cmath>

namespace recipec::passes {

namespace {

using ir::DimId;
using ir::OpKind;
using ir::ValueId;

class Builder {
public:
  Builder(const recipe::Recipe& recipe, const Extent& extent,
          diag::Engine& engine)
      : recipe(recipe), extent(extent), engine(engine), names(module) {}

  ir::Module run() {
    header();
    dims();
    tensors.assign(size_t(recipe.model.tensorCount), ValueId::none);
    tensorOf(recipe.model.tokens) = input("tokens");
    names.make("tokens");
    for (const recipe::Call& call : recipe.model.calls)
      build(call);
    output();
    return std::move(module);
  }

private:
  // ---- the frame

  void header() {
    module.name = recipe.name;
    module.axes = extent.mesh.axes;
    module.degrees = extent.mesh.degrees;
    const std::string& compute = recipe.string("precision.compute");
    module.compute = compute == "bf16"   ? ir::DType::bf16
                     : compute == "fp64" ? ir::DType::f64
                                         : ir::DType::f32;
    module.functions.push_back({"forward", {}});
  }

  void dims() {
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

  /// A model's dimension is never one of ours, whatever its name.
  DimId ownDim(const recipe::Dim& dim) {
    std::string name = dim.name;
    if (name == "batch" || name == "sequence" || name == placesDim ||
        name == scoresDim)
      name = "model." + name;
    return ir::addDim(module, name, dim.size, dim.origin.range);
  }

  ValueId input(std::string_view role) {
    names.make(std::string(role)); // no op of the model takes it
    return obtainInput(module, role);
  }

  ValueId& tensorOf(recipe::TensorId id) { return tensors[size_t(id)]; }

  DimId dimOf(recipe::DimId id) const { return modelDims[size_t(id)]; }

  std::vector<DimId> dimsOf(const std::vector<recipe::DimId>& ids) const {
    std::vector<DimId> result;
    for (recipe::DimId id : ids)
      result.push_back(dimOf(id));
    return result;
  }

  // ---- parameters

  /// Makes the parameter of a call. `hfDims` says how Hugging Face groups the
  /// dimensions: how many of the first make its first.
  ValueId param(const recipe::Call& call, std::vector<DimId> dims,
                ir::Initializer init, bool decay, size_t hfFirst) {
    ir::Param param;
    param.name = names.make(call.name + ".weight");
    param.init = std::move(init);
    param.decay = decay;
    param.hfName = call.hfName + ".weight";
    param.hfShape = groupedShape(dims, hfFirst);
    param.value = ir::addValue(module, {param.name,
                                        ir::ValueKind::parameter,
                                        module.compute,
                                        std::move(dims),
                                        {},
                                        call.range});
    module.params.push_back(std::move(param));
    return module.params.back().value;
  }

  std::vector<int64_t> groupedShape(const std::vector<DimId>& dims,
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

  void build(const recipe::Call& call) {
    if (call.op == "parameter")
      return buildParameter(call);
    if (call.op == "router")
      return buildRouter(call);
    std::optional<OpKind> kind = ir::findOp(call.op);
    assert(kind && "stdlib/ops.recipe declares an op that Ops.def lacks");
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
    if (!inferDims(module, op, contracted, engine))
      return;
    if (op.kind == OpKind::Dispatch)
      layRows(call, op);
    tensorOf(call.result) = op.results[0];
    module.functions[0].ops.push_back(std::move(op));
  }

  void buildParameter(const recipe::Call& call) {
    std::vector<DimId> dims;
    for (const recipe::Value& dim :
         std::get<recipe::List>(at(call, "shape").data))
      dims.push_back(dimOf(std::get<recipe::DimValue>(dim.data).dim));
    bool decay = decays(call, dims.size() > 1);
    tensorOf(call.result) =
        param(call, std::move(dims), initializer(call), decay, 0);
  }

  /// The place among a call's operands where a parameter stands; -1: none.
  static int weightPlace(OpKind kind) {
    bool hasWeight = kind == OpKind::Embedding || kind == OpKind::Linear ||
                     kind == OpKind::RmsNorm;
    return hasWeight ? 1 : -1;
  }

  /// False when an operand is missing for an error reported before, or is a
  /// parameter where data is due or the other way about.
  bool operands(const recipe::Call& call, ir::Op& op) {
    for (size_t i = 0; i < call.operands.size(); ++i) {
      if (call.operands[i] == recipe::TensorId::none)
        continue;
      ValueId value = tensorOf(call.operands[i]);
      if (value == ValueId::none)
        return false;
      if (!fitsRole(call, op.kind, int(i), value))
        return false;
      op.operands.push_back(value);
    }
    return true;
  }

  /// Whether a parameter stands where a weight is due, the tokens where ids
  /// are, and what is computed everywhere else.
  bool fitsRole(const recipe::Call& call, OpKind kind, int place,
                ValueId value) {
    std::string name = "`" + module[value].name + "`", op = "`" + call.op + "`";
    bool isParam = module[value].kind == ir::ValueKind::parameter;
    bool isTokens = module[value].kind == ir::ValueKind::input;
    std::string message;
    if (routings.contains(value) != isRoutingPlace(kind, place)) {
      message = isRoutingPlace(kind, place)
                    ? op + " takes the routing of a `router`, and " + name +
                          " is none"
                    : op + " takes data here, and " + name + " is a routing";
    } else if (place == weightPlace(kind)) {
      if (isParam)
        return true;
      message = "the weight of " + op + " is a parameter, and " + name +
                (isTokens ? " is an input" : " is computed");
    } else if (isParam) {
      message = op + " takes data here, and " + name + " is a parameter";
    } else if (isTokens != (kind == OpKind::Embedding)) {
      message = isTokens
                    ? op + " takes numbers, and " + name + " are ids"
                    : op + " takes the tokens, and " + name + " is computed";
    } else {
      return true;
    }
    diag::Builder report = engine.report(diag::Kind::ShapeMismatch, call.range,
                                         std::move(message));
    if (!isTokens)
      report.note("made here", module[value].range);
    return false;
  }

  /// Adds what a call leaves unsaid: parameters, implicit inputs, attributes.
  /// False after reporting a weight of other dimensions.
  bool complete(const recipe::Call& call, ir::Op& op, size_t& contracted) {
    switch (op.kind) {
    case OpKind::Linear:
      return linear(call, op, contracted);
    case OpKind::RmsNorm:
      op.attributes["eps"] = real(call, "eps");
      if (op.operands.size() == 1)
        op.operands.push_back(param(call, {module[op.operands[0]].dims.back()},
                                    {"ones", 0.0}, decays(call, false), 0));
      return true;
    case OpKind::Rope:
      op.operands.push_back(input("positions"));
      op.attributes = ropeAttributes(call);
      return true;
    case OpKind::Attention:
      // Those of the queries, then of the keys: sharding tells them apart.
      for (const char* role : {"segments", "places", "segments", "places"})
        op.operands.push_back(input(role));
      attention(call, op);
      return true;
    case OpKind::Dispatch:
      return dispatch(call, op);
    case OpKind::ExpertLinear:
      expertLinear(call, op, contracted);
      return true;
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

  bool linear(const recipe::Call& call, ir::Op& op, size_t& contracted) {
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

  /// A weight that is given has the dimensions that the call names.
  bool checkWeight(const recipe::Call& call, ValueId weight,
                   const std::vector<DimId>& dims) {
    if (module[weight].dims == dims)
      return true;
    engine
        .report(diag::Kind::ShapeMismatch, call.range,
                "the weight `" + module[weight].name + "` has dimensions " +
                    listed(module[weight].dims) + ", and this `linear` takes " +
                    listed(dims))
        .note("the weight is made here", module[weight].range);
    return false;
  }

  std::string listed(const std::vector<DimId>& dims) const {
    std::string text = "[";
    for (size_t i = 0; i < dims.size(); ++i)
      text += (i ? ", `" : "`") + module[dims[i]].name + "`";
    return text + "]";
  }

  void attention(const recipe::Call& call, ir::Op& op) {
    const recipe::Value& scale = at(call, "scale");
    int64_t width = module[module[op.operands[0]].dims.back()].size;
    op.attributes["scale"] =
        scale.isAuto() ? 1.0 / std::sqrt(double(width)) : real(scale);
    op.attributes["causal"] = std::get<bool>(at(call, "causal").data);
  }

  void dropout(const recipe::Call& call, ir::Op& op) {
    double p = real(call, "p");
    if (!(p >= 0 && p < 1))
      engine.report(diag::Kind::InvalidValue, at(call, "p").origin.range,
                    "`p` = " + recipe::formatValue(at(call, "p"), {}) +
                        " is not a probability below 1");
    op.attributes["p"] = p;
    op.attributes["seed"] = recipe.integer("train.seed");
    op.attributes["stream"] = dropouts++;
  }

  // ---- experts

  static bool isRoutingPlace(OpKind kind, int place) {
    return place == 1 && (kind == OpKind::Dispatch || kind == OpKind::Combine);
  }

  /// A linear to the scores of the experts, and the routing by them.
  void buildRouter(const recipe::Call& call) {
    ir::Op linear{};
    linear.kind = OpKind::Linear;
    linear.layer = call.layer;
    linear.range = call.range;
    if (!operands(call, linear))
      return;
    const auto& mapping = std::get<recipe::DimsMapping>(at(call, "dims").data);
    Routing routing;
    routing.experts = dimOf(mapping.to[0]);
    const ir::Dim& experts = module[routing.experts];
    std::vector<DimId> dims = {
        ir::addDim(module, scoresDim, experts.size, experts.range)};
    for (recipe::DimId dim : mapping.from)
      dims.push_back(dimOf(dim));
    if (linear.operands.size() == 1)
      linear.operands.push_back(param(call, std::move(dims), initializer(call),
                                      decays(call, true), 1));
    linear.name = names.make(call.name);
    addResult(linear, linear.name);
    if (!inferDims(module, linear, mapping.from.size(), engine))
      return;
    ValueId logits = linear.results[0];
    module.functions[0].ops.push_back(std::move(linear));
    route(call, logits, std::move(routing));
  }

  void route(const recipe::Call& call, ValueId logits, Routing routing) {
    const std::vector<DimId> lead = {module[logits].dims[0],
                                     module[logits].dims[1]};
    routing.choicesPerToken = std::get<int64_t>(at(call, "top_k").data);
    int64_t sequence = module[lead[1]].size;
    // A model that answers drops nothing: which tokens stand beside which is
    // another matter there.
    routing.limit = !extent.loss ? sequence
                                 : expertLimit(at(call, "capacity"), sequence,
                                               routing.choicesPerToken,
                                               module[routing.experts].size);
    ir::Op op{};
    op.kind = OpKind::Route;
    op.layer = call.layer;
    op.range = call.range;
    op.attributes = routeAttributes(call);
    if (routing.limit < sequence)
      op.attributes["limit"] = routing.limit;
    op.operands = {logits, input("segments"), ValueId::none, ValueId::none,
                   ValueId::none};
    op.name = names.make(call.name + ".choices");
    addResult(op, op.name);
    addResult(op, names.make(call.name + ".gates"));
    op.results.push_back(ValueId::none);
    if (extent.loss) {
      op.operands[3] = input("weights");
      op.operands[4] = input("loss_scale");
      op.results[2] = lossSum();
    }
    routing.choices = op.results[0];
    routing.gates = op.results[1];
    DimId choices = ir::constantDim(module, routing.choicesPerToken);
    for (ValueId result : {routing.choices, routing.gates})
      module[result].dims = {lead[0], lead[1], choices};
    module[routing.choices].type = ir::DType::i32;
    module[routing.gates].type = ir::accumulationType(module.compute);
    tensorOf(call.result) = routing.choices;
    routings.emplace(routing.choices, std::move(routing));
    module.functions[0].ops.push_back(std::move(op));
  }

  bool dispatch(const recipe::Call& call, ir::Op& op) {
    bool isWeighted = std::get<bool>(at(call, "weighted").data);
    op.operands.push_back(isWeighted ? routings.at(op.operands[1]).gates
                                     : ValueId::none);
    return true;
  }

  /// The results of a dispatch. Each rank has places for all that its tokens
  /// can ask for; sharding makes them places of a layout.
  void layRows(const recipe::Call& call, ir::Op& op) {
    Routing& routing = routings.at(op.operands[1]);
    const std::vector<DimId>& x = module[op.operands[0]].dims;
    DimId places = ir::addDim(module, placesDim,
                              module[x[0]].size * routing.limit, call.range);
    module[op.results[0]].dims = {routing.experts, places, x[2]};
    routing.rows = op.results[1];
    module[routing.rows].dims = module[routing.choices].dims;
    module[routing.rows].type = ir::DType::i32;
    double rows =
        double(module[places].size) * double(module[routing.experts].size);
    double choices = double(module[x[0]].size) * double(module[x[1]].size) *
                     double(routing.choicesPerToken);
    usedRows[places] = std::min(1.0, choices / rows);
  }

  void expertLinear(const recipe::Call& call, ir::Op& op, size_t& contracted) {
    const auto& mapping = std::get<recipe::DimsMapping>(at(call, "dims").data);
    contracted = mapping.from.size();
    DimId experts =
        dimOf(std::get<recipe::DimValue>(at(call, "experts").data).dim);
    bool isStacked = std::get<bool>(at(call, "stacked").data);
    op.attributes["stacked"] = isStacked;
    const std::vector<DimId>& x = module[op.operands[0]].dims;
    auto used = usedRows.find(x.size() > 1 ? x[1] : DimId::none);
    op.attributes["used"] = used == usedRows.end() ? 1.0 : used->second;
    std::vector<DimId> outer = dimsOf(isStacked ? mapping.from : mapping.to);
    std::vector<DimId> inner = dimsOf(isStacked ? mapping.to : mapping.from);
    std::vector<int64_t> hfShape = groupedShape(outer, outer.size());
    hfShape.back() = groupedShape(inner, inner.size())[0];
    std::vector<DimId> dims = {experts};
    dims.insert(dims.end(), outer.begin(), outer.end());
    dims.insert(dims.end(), inner.begin(), inner.end());
    op.operands.push_back(
        param(call, std::move(dims), initializer(call), decays(call, true), 0));
    ir::Param& weight = module.params.back();
    weight.hfShape = std::move(hfShape);
    if (!isStacked)
      return;
    weight.hfShape.insert(weight.hfShape.begin(), module[experts].size);
    weight.hfName = call.hfName; // a tensor of its own, not of a module
  }

  bool combine(const recipe::Call& call, ir::Op& op) {
    const Routing& routing = routings.at(op.operands[1]);
    if (routing.rows == ValueId::none) {
      engine
          .report(
              diag::Kind::ShapeMismatch, call.range,
              "`combine` takes back what a `dispatch` sent, and the routing "
              "`" +
                  module[routing.choices].name + "` has none before it")
          .help("call `dispatch` with the same routing first");
      return false;
    }
    bool isWeighted = std::get<bool>(at(call, "weighted").data);
    op.operands = {op.operands[0], routing.rows,
                   isWeighted ? routing.gates : ValueId::none};
    return true;
  }

  // ---- names and results

  /// The call's name; without one it is made of an operand's: that of the only
  /// operand and the op, or the last operand's scope and the op.
  std::string nameOf(const recipe::Call& call, const ir::Op& op) const {
    if (!call.name.empty())
      return call.name;
    if (op.kind == OpKind::Embedding)
      return "embedding";
    size_t last = call.operands.size() - 1;
    const std::string& operand = module[op.operands[last]].name;
    if (last == 0 || weightPlace(op.kind) > 0)
      return join(module[op.operands[0]].name, call.op);
    return join(scopeOf(operand), call.op);
  }

  void results(ir::Op& op) {
    addResult(op, op.name);
    if (op.kind == OpKind::RmsNorm)
      addResult(op, names.make(op.name + ".rstd"));
    if (op.kind == OpKind::Attention)
      addResult(op, names.make(op.name + ".lse"));
    if (op.kind == OpKind::Dispatch)
      addResult(op, names.make(op.name + ".rows"));
  }

  void addResult(ir::Op& op, std::string name) {
    op.results.push_back(ir::addValue(module, {std::move(name),
                                               ir::ValueKind::temporary,
                                               module.compute,
                                               {},
                                               {},
                                               op.range}));
  }

  // ---- the end

  void output() {
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
    if (extent.loss)
      loss(logits);
    else
      module.bindings["logits"] = logits;
  }

  void loss(ValueId logits) {
    ValueId labels = input("labels"), weights = input("weights"),
            scale = input("loss_scale");
    ValueId max = lossOp(OpKind::SoftmaxMax, "loss.max", {logits});
    ValueId stats =
        lossOp(OpKind::SoftmaxSum, "loss.stats", {logits, max, labels});
    lossOp(OpKind::Nll, "loss", {max, stats, weights, scale}, lossSum());
  }

  /// The loss, to which also the routers add.
  ValueId lossSum() {
    auto bound = module.bindings.find("loss");
    if (bound != module.bindings.end())
      return bound->second;
    ValueId sum = ir::addValue(module, {names.make("loss"),
                                        ir::ValueKind::state,
                                        ir::DType::f64,
                                        {},
                                        {},
                                        recipe.range});
    module.bindings["loss"] = sum;
    return sum;
  }

  ValueId lossOp(OpKind kind, const char* name, std::vector<ValueId> operands,
                 ValueId result = ValueId::none) {
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

  const recipe::Recipe& recipe;
  const Extent& extent;
  diag::Engine& engine;
  ir::Module module;
  Names names;
  std::vector<DimId> modelDims;
  std::vector<ValueId> tensors; // by TensorId; none after an error
  int64_t dropouts = 0;
  std::map<ValueId, Routing> routings; // by their choices
  std::map<DimId, double> usedRows;    // by places: the share that tokens take
};

} // namespace

Extent trainingExtent(const recipe::Recipe& recipe) {
  Extent extent;
  extent.mesh = meshOf(recipe);
  extent.batch = recipe.integer("batch.micro") * recipe.integer("parallel.dp");
  extent.sequence = recipe.count("data.sequence");
  return extent;
}

ir::Module build(const recipe::Recipe& recipe, const Extent& extent,
                 diag::Engine& engine) {
  return Builder(recipe, extent, engine).run();
}

} // namespace recipec::passes
