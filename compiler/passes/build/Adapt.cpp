// LoRA (Hu et al. 2021) on a Graph.
//
// 1. Freeze every parameter.
// 2. Look up the targets by the last part of their name, among the linears that
//    made their own weight. A linear whose weight is only some rows of a
//    Hugging Face tensor is no target: the adapter there covers the whole
//    tensor.
// 3. For each target, rename the linear's result to `<name>.base`. Then append
//    dropout, `lora_a` (to the rank), `lora_b` (from the rank, times alpha /
//    rank) and an add, which takes over the result, so that its readers stay
//    unchanged.

#include "compiler/passes/build/Adapt.h"

#include "compiler/passes/ValueNames.h"
#include "compiler/passes/build/InferDims.h"
#include "compiler/passes/build/Inputs.h"
#include "runtime/ops/OpKind.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <optional>
#include <set>
#include <unordered_map>

namespace recipec::passes {

namespace {

using ir::Op;
using ir::OpKind;
using ir::ParamId;
using ir::ValueId;

class Lora {
public:
  Lora(ir::Module& module, const recipe::Recipe& recipe, diag::Engine& engine)
      : module(module), recipe(recipe), engine(engine), names(module) {}

  void run() {
    for (size_t i = 0; i < module.params.size(); ++i) {
      module.params[i].trainable = false;
      paramOf.emplace(module.params[i].value, ParamId(i));
    }
    readSettings();
    if (!findTargets())
      return;
    ir::Function& forward = module.functions[0];
    std::vector<Op> before = std::move(forward.ops);
    forward.ops.clear();
    for (Op& op : before) {
      if (isTarget(op) && takesTokens(op))
        adapt(op);
      else
        forward.ops.push_back(std::move(op));
    }
  }

private:
  void readSettings() {
    rank = recipe.integer("adapter.rank");
    scale = recipe.real("adapter.alpha") / double(rank);
    dropout = recipe.real("adapter.dropout");
    rankDim = ir::addDim(module, "lora_rank", rank,
                         recipe.at("adapter.rank").origin.range);
    for (const Op& op : module.functions[0].ops)
      streams += op.kind == OpKind::Dropout;
  }

  // ---- targets

  /// Whether an op is a linear with a weight of its own name.
  bool isNamedLinear(const Op& op) const {
    return op.kind == OpKind::Linear &&
           module[op.operands[1]].name == op.name + ".weight";
  }

  /// Whether the op's weight is only some rows of a Hugging Face tensor.
  bool isPart(const Op& linear) const {
    return module[paramOf.at(linear.operands[1])].hfRows > 0;
  }

  bool isTarget(const Op& op) const {
    return isNamedLinear(op) && !isPart(op) &&
           targets.contains(lastPart(op.name));
  }

  /// Whether the adapter's dropout has tokens to drop elements of; reports an
  /// error otherwise.
  bool takesTokens(const Op& linear) {
    const std::vector<ir::DimId>& x = module[linear.operands[0]].dims;
    const std::vector<ir::DimId>& tokens =
        module[module.bindings.at("tokens")].dims;
    if (dropout == 0 || (x.size() >= tokens.size() &&
                         std::equal(tokens.begin(), tokens.end(), x.begin())))
      return true;
    engine
        .report(diag::Kind::InvalidValue,
                recipe.at("adapter.dropout").origin.range,
                "`dropout` drops elements of tokens, and `" + linear.name +
                    "` takes rows of experts")
        .note("the linear op is made here", linear.range)
        .propose({"set `dropout` to ", {{"0", {"adapter.dropout=0"}}}, ""})
        .otherwise("set `dropout` to 0, or leave the op out of `targets`");
    return false;
  }

  bool findTargets() {
    std::set<std::string, std::less<>> linears;
    for (const Op& op : module.functions[0].ops)
      if (isNamedLinear(op) && !isPart(op))
        linears.emplace(lastPart(op.name));
    const recipe::Value& given = recipe.at("adapter.targets");
    bool isDefault = given.origin.kind == recipe::Origin::Kind::defaultValue;
    std::vector<std::string> missing; // default targets
    for (const recipe::Value& target : std::get<recipe::List>(given.data)) {
      const auto& name = std::get<std::string>(target.data);
      if (linears.contains(name))
        targets.insert(name);
      else if (const Op* part = findPart(name))
        reportPart(target, *part, {linears.begin(), linears.end()});
      else if (isDefault)
        missing.push_back(name);
      else
        unknown(target, name, {linears.begin(), linears.end()});
    }
    if (!missing.empty())
      reportDefault(given.origin.range, missing,
                    {linears.begin(), linears.end()});
    return !engine.hasErrors();
  }

  /// Reports default targets that this model lacks.
  void reportDefault(SourceRange place, const std::vector<std::string>& missing,
                     const std::vector<std::string>& candidates) {
    std::set<std::string> ofLayers;
    for (const Op& op : module.functions[0].ops)
      if (isNamedLinear(op) && !isPart(op) && op.layer >= 0)
        ofLayers.emplace(lastPart(op.name));
    std::string list;
    for (const std::string& name : ofLayers)
      list += (list.empty() ? "\"" : ", \"") + name + "\"";
    engine
        .report(diag::Kind::UnknownName, place,
                "`targets` of `adapter` are not given, and the model has no "
                "linear op called " +
                    listed(missing) + ", as they are by default")
        .note("the linear ops are " + listed(candidates))
        .propose({"write `targets = ",
                  {{"[" + list + "]", {"adapter.targets=[" + list + "]"}}},
                  "`, or some of these"})
        .otherwise("name some of those in `targets`");
  }

  /// A linear with a part of the tensor `name`, or a linear of that name that
  /// makes a part.
  const Op* findPart(const std::string& name) const {
    for (const Op& op : module.functions[0].ops)
      if (isNamedLinear(op) && isPart(op) &&
          (lastPart(op.name) == name || lastPart(scopeOf(op.name)) == name))
        return &op;
    return nullptr;
  }

  void reportPart(const recipe::Value& target, const Op& part,
                  const std::vector<std::string>& candidates) {
    std::string tensor(lastPart(scopeOf(part.name)));
    engine
        .report(diag::Kind::NotSupported, target.origin.range,
                "this version does not support an adapter of `" + tensor +
                    "`, which is one matrix of a checkpoint and several "
                    "linear ops of the model")
        .note("the linear ops are made here", part.range)
        .note("linear ops that can be adapted are " + listed(candidates))
        .help("leave it out, or name some of those");
  }

  bool isOfExperts(const std::string& name) const {
    const auto& ops = module.functions[0].ops;
    return std::any_of(ops.begin(), ops.end(), [&](const Op& op) {
      return op.kind == OpKind::ExpertLinear && lastPart(op.name) == name;
    });
  }

  void unknown(const recipe::Value& target, const std::string& name,
               const std::vector<std::string>& candidates) {
    if (isOfExperts(name)) {
      engine
          .report(diag::Kind::NotSupported, target.origin.range,
                  "this version does not support an adapter of the experts, "
                  "which `" +
                      name + "` is a matrix of")
          .note("the linear ops that can be adapted are " + listed(candidates))
          .help("leave it out, or name some of those");
      return;
    }
    diag::Builder report =
        engine.report(diag::Kind::UnknownName, target.origin.range,
                      "no linear op of the model is called `" + name + "`");
    report.note("the linear ops are " + listed(candidates));
    if (std::optional<std::string> own = namedByCheckpoint(name))
      report.help("that is `\"" + *own + "\"` here")
          .fixIt(target.origin.range, "\"" + *own + "\"",
                 diag::Applicability::safe);
    else if (!report.suggest(target.origin.range, name, candidates, "\""))
      report.help("write names of these ops in `targets`");
  }

  /// The model's name of the linear that a Hugging Face weight belongs to: `q`
  /// for `q_proj`.
  std::optional<std::string> namedByCheckpoint(std::string_view name) const {
    for (const Op& op : module.functions[0].ops) {
      if (!isNamedLinear(op) || isPart(op))
        continue;
      std::string_view hfName = module[paramOf.at(op.operands[1])].hfName;
      if (lastPart(scopeOf(hfName)) == name)
        return std::string(lastPart(op.name));
    }
    return std::nullopt;
  }

  static std::string listed(const std::vector<std::string>& names) {
    std::string list;
    for (const std::string& name : names)
      list += (list.empty() ? "`" : ", `") + name + "`";
    return list;
  }

  // ---- the rewrite

  void adapt(Op linear) {
    ValueId x = linear.operands[0], weight = linear.operands[1],
            result = linear.results[0];
    // `to` of the weight [to..., from...] are the result's dimensions beyond
    // x's.
    size_t xs = module[x].dims.size(), ws = module[weight].dims.size(),
           ys = module[result].dims.size();
    size_t contracted = (xs + ws - ys) / 2;
    ValueId base = make(names.make(linear.name + ".base"), linear.range);
    module[base].dims = module[result].dims;
    linear.results[0] = base;
    push(linear);
    if (dropout > 0)
      x = addDropout(linear, x);
    ValueId a = paramA(linear, weight, contracted);
    ValueId b = paramB(linear, weight, contracted);
    ir::Param& adapted = module[paramOf.at(weight)];
    adapted.loraA = ParamId(module.params.size() - 2);
    adapted.loraB = ParamId(module.params.size() - 1);
    adapted.loraScale = scale;
    ValueId low = addLinear(linear, "lora_a", x, a, contracted, 1.0);
    ValueId high = addLinear(linear, "lora_b", low, b, 1, scale);
    Op add = opLike(linear, OpKind::Add, linear.name);
    add.operands = {base, high};
    add.results = {result};
    push(std::move(add));
  }

  ValueId make(std::string name, SourceRange range) {
    return ir::addValue(module, {std::move(name),
                                 ir::ValueKind::temporary,
                                 module.compute,
                                 {},
                                 {},
                                 range});
  }

  static Op opLike(const Op& linear, OpKind kind, std::string name) {
    Op op{};
    op.kind = kind;
    op.name = std::move(name);
    op.layer = linear.layer;
    op.range = linear.range;
    return op;
  }

  void push(Op op) { module.functions[0].ops.push_back(std::move(op)); }

  ValueId addDropout(const Op& linear, ValueId x) {
    Op op = opLike(linear, OpKind::Dropout, linear.name + ".lora_dropout");
    op.operands = {x, obtainInput(module, "samples"),
                   obtainInput(module, "places")};
    op.attributes["p"] = dropout;
    op.attributes["seed"] = recipe.integer("train.seed");
    op.attributes["stream"] = streams++;
    return infer(std::move(op), 0);
  }

  ValueId addLinear(const Op& linear, const char* name, ValueId x,
                    ValueId weight, size_t contracted, double alpha) {
    Op op = opLike(linear, OpKind::Linear, linear.name + "." + name);
    op.operands = {x, weight};
    if (alpha != 1.0)
      op.attributes["alpha"] = alpha;
    return infer(std::move(op), contracted);
  }

  ValueId infer(Op op, size_t contracted) {
    op.name = names.make(op.name);
    ValueId result = make(op.name, op.range);
    op.results = {result};
    bool fits = inferDims(module, op, contracted, engine);
    assert(fits && "an adapter fits what it adapts");
    (void)fits;
    push(std::move(op));
    return result;
  }

  // ---- parameters

  /// A [rank, from...]. The standard deviation is that of peft's uniform
  /// initialisation (Kaiming, a = sqrt 5): 1 / sqrt(3 * inputs).
  ValueId paramA(const Op& linear, ValueId weight, size_t contracted) {
    std::vector<ir::DimId> dims(module[weight].dims.end() - long(contracted),
                                module[weight].dims.end());
    int64_t inputs = sizeOf(dims);
    dims.insert(dims.begin(), rankDim);
    return param(linear, weight, "lora_a", "lora_A", std::move(dims),
                 {"normal", 1.0 / std::sqrt(3.0 * double(inputs))},
                 {rank, inputs});
  }

  /// B [to..., rank], zeros.
  ValueId paramB(const Op& linear, ValueId weight, size_t contracted) {
    std::vector<ir::DimId> dims(module[weight].dims.begin(),
                                module[weight].dims.end() - long(contracted));
    int64_t outputs = sizeOf(dims);
    dims.push_back(rankDim);
    return param(linear, weight, "lora_b", "lora_B", std::move(dims),
                 {"zeros", 0.0}, {outputs, rank});
  }

  int64_t sizeOf(const std::vector<ir::DimId>& dims) const {
    int64_t size = 1;
    for (ir::DimId dim : dims)
      size *= module[dim].size;
    return size;
  }

  ValueId param(const Op& linear, ValueId weight, const char* part,
                const char* hfPart, std::vector<ir::DimId> dims,
                ir::Initializer init, std::vector<int64_t> hfShape) {
    std::string hfBase(scopeOf(module[paramOf.at(weight)].hfName));
    ir::Param param;
    param.name = names.make(linear.name + "." + part + ".weight");
    param.init = std::move(init);
    param.adapter = true;
    param.hfName = "base_model.model." + hfBase + "." + hfPart + ".weight";
    param.hfShape = std::move(hfShape);
    param.value = ir::addValue(module, {param.name,
                                        ir::ValueKind::parameter,
                                        module.compute,
                                        std::move(dims),
                                        {},
                                        linear.range});
    module.params.push_back(std::move(param));
    return module.params.back().value;
  }

  ir::Module& module;
  const recipe::Recipe& recipe;
  diag::Engine& engine;
  ValueNames names;
  std::unordered_map<ValueId, ParamId> paramOf;
  std::set<std::string, std::less<>> targets;
  int64_t rank = 0;
  double scale = 1;
  double dropout = 0;
  ir::DimId rankDim = ir::DimId::none;
  int64_t streams = 0;
};

} // namespace

void adapt(ir::Module& module, const recipe::Recipe& recipe,
           diag::Engine& engine) {
  const recipe::Value* adapter = recipe.find("adapter");
  if (adapter && !adapter->isNone())
    Lora(module, recipe, engine).run();
}

} // namespace recipec::passes
