// Recipe → Graph.
//
// 1. Number the dimensions: `batch`, `sequence`, then the model's.
// 2. Turn each call of the traced model into an op in the order of the trace.
//    Parameters are made where they are first needed, typed by the recipe's
//    compute type and named by the call. Inputs that a model does not mention
//    (positions, segments, samples) join where an op reads them.
// 3. Infer dimensions op by op; a call that depends on one with an error is
//    left out without another message.
// 4. For training append the loss: sum of weights * nll * loss_scale, the nll
//    by maximum and sum over the vocabulary (softmax_max, softmax_sum, nll), so
//    that it can be sharded without gathering logits.

#include "compiler/passes/Build.h"

#include "compiler/passes/InferDims.h"
#include "compiler/passes/Inputs.h"
#include "compiler/passes/Names.h"

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

  /// A model's dimension is never `batch` or `sequence`, whatever its name.
  DimId ownDim(const recipe::Dim& dim) {
    std::string name = dim.name;
    if (name == "batch" || name == "sequence")
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

  // ---- attributes of calls

  static const recipe::Value& at(const recipe::Call& call,
                                 std::string_view name) {
    const recipe::Value* value = call.find(name);
    assert(value && "stdlib/ops.recipe declares no such argument");
    return *value;
  }

  static double real(const recipe::Value& value) {
    if (const int64_t* whole = std::get_if<int64_t>(&value.data))
      return double(*whole);
    return std::get<double>(value.data);
  }

  static double real(const recipe::Call& call, std::string_view name) {
    return real(at(call, name));
  }

  static ir::Initializer initializer(const recipe::Call& call) {
    const auto& record = std::get<recipe::Record>(at(call, "init").data);
    const recipe::Value* std = record.find("std");
    return {record.schema, std ? real(*std) : 0.0};
  }

  /// Whether the optimizer decays a call's parameter; `otherwise` where the
  /// call leaves it to the op.
  static bool decays(const recipe::Call& call, bool otherwise) {
    const bool* decay = std::get_if<bool>(&at(call, "decay").data);
    return decay ? *decay : otherwise;
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
    if (place == weightPlace(kind)) {
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
      rope(call, op);
      return true;
    case OpKind::Attention:
      op.operands.push_back(input("segments"));
      attention(call, op);
      return true;
    case OpKind::Scale:
      op.attributes["alpha"] = real(call, "alpha");
      return true;
    case OpKind::Dropout:
      op.operands.push_back(input("samples"));
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

  static void rope(const recipe::Call& call, ir::Op& op) {
    op.attributes["theta"] = real(call, "theta");
    const auto* scaling =
        std::get_if<recipe::Record>(&at(call, "scaling").data);
    if (!scaling)
      return;
    op.attributes["scaling"] =
        std::get<std::string>(scaling->find("kind")->data);
    for (const char* name : {"factor", "low_freq_factor", "high_freq_factor"})
      op.attributes[name] = real(*scaling->find(name));
    op.attributes["original_max_position"] =
        std::get<int64_t>(scaling->find("original_max_position")->data);
  }

  void attention(const recipe::Call& call, ir::Op& op) {
    const recipe::Value& scale = at(call, "scale");
    int64_t width = module[module[op.operands[0]].dims.back()].size;
    op.attributes["scale"] =
        scale.isAuto() ? 1.0 / std::sqrt(double(width)) : real(scale);
    op.attributes["causal"] = std::get<bool>(at(call, "causal").data);
  }

  void dropout(const recipe::Call& call, ir::Op& op) {
    op.attributes["p"] = real(call, "p");
    op.attributes["seed"] = recipe.integer("train.seed");
    op.attributes["stream"] = dropouts++;
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
    ValueId sum = ir::addValue(module, {names.make("loss"),
                                        ir::ValueKind::state,
                                        ir::DType::f64,
                                        {},
                                        {},
                                        recipe.range});
    lossOp(OpKind::Nll, "loss", {max, stats, weights, scale}, sum);
    module.bindings["loss"] = sum;
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
