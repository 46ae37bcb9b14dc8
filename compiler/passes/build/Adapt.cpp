// LoRA (Hu et al. 2021) on a Graph.
//
// 1. Freeze every parameter, in training.
// 2. Look up the targets (AdapterTargets.h).
// 3. For each target, rename the linear's result to `<name>.base`. Then append
//    dropout, `lora_a` (to the rank), `lora_b` (from the rank, times alpha /
//    rank) and an add, which takes over the result, so that its readers stay
//    unchanged. In a server both factors are `adapter_linear`s, which read the
//    matrices of each token's adapter; loading one multiplies B by alpha /
//    rank.

#include "compiler/passes/build/Adapt.h"

#include "compiler/passes/ValueNames.h"
#include "compiler/passes/build/AdapterTargets.h"
#include "compiler/passes/build/InferDims.h"
#include "compiler/passes/build/Inputs.h"
#include "compiler/recipe/Task.h"
#include "runtime/ops/OpKind.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <unordered_map>
#include <utility>

namespace recipec::passes {

namespace {

using ir::Op;
using ir::OpKind;
using ir::ParamId;
using ir::ValueId;

/// The settings of adapters in a recipe that trains or serves them.
struct Settings {
  std::string prefix; // of the settings' names: `adapter.`
  int64_t rank = 0;
  double scale = 1;
  double dropout = 0;
  int64_t servedAdapters = 0; // of a server, which chooses one per token
};

class Lora {
public:
  Lora(ir::Module& module, const recipe::Recipe& recipe, Settings settings,
       diag::Engine& engine)
      : module(module), recipe(recipe), settings(std::move(settings)),
        engine(engine), names(module),
        targets(module, recipe, this->settings.prefix + "targets", engine) {}

  void run() {
    for (size_t i = 0; i < module.params.size(); ++i)
      paramOf.emplace(module.params[i].value, ParamId(i));
    if (!targets.find())
      return;
    addDims();
    ir::Function& forward = module.functions[0];
    std::vector<Op> before = std::move(forward.ops);
    forward.ops.clear();
    for (Op& op : before) {
      if (targets.contains(op) && takesTokens(op))
        adapt(op);
      else
        forward.ops.push_back(std::move(op));
    }
  }

private:
  bool isServer() const { return settings.servedAdapters > 0; }

  void addDims() {
    rankDim = ir::addDim(module, "lora_rank", settings.rank,
                         recipe.at(settings.prefix + "rank").origin.range);
    if (isServer())
      adaptersDim = ir::addDim(module, "adapters", settings.servedAdapters);
    for (const Op& op : module.functions[0].ops)
      streams += op.kind == OpKind::Dropout;
  }

  /// Whether the op computes a result for each token, as dropout and the choice
  /// of a server's adapter require; reports an error otherwise.
  bool takesTokens(const Op& linear) {
    const std::vector<ir::DimId>& x = module[linear.operands[0]].dims;
    const std::vector<ir::DimId>& tokens =
        module[module.bindings.at("tokens")].dims;
    if ((settings.dropout == 0 && !isServer()) ||
        (x.size() >= tokens.size() &&
         std::equal(tokens.begin(), tokens.end(), x.begin())))
      return true;
    if (isServer())
      reportExpertRows(linear);
    else
      reportDropout(linear);
    return false;
  }

  void reportDropout(const Op& linear) {
    engine
        .report(diag::Kind::InvalidValue,
                recipe.at("adapter.dropout").origin.range,
                "`dropout` drops elements of tokens, and `" + linear.name +
                    "` takes rows of experts")
        .note("the linear op is made here", linear.range)
        .propose({"set `dropout` to ", {{"0", {"adapter.dropout=0"}}}, ""})
        .otherwise("set `dropout` to 0, or leave the op out of `targets`");
  }

  void reportExpertRows(const Op& linear) {
    engine
        .report(diag::Kind::NotSupported,
                recipe.at("serve.adapter_targets").origin.range,
                "a server chooses adapters by token, and `" + linear.name +
                    "` takes rows of experts")
        .note("the linear op is made here", linear.range)
        .help("leave it out of `adapter_targets`");
  }

  // ---- the rewrite

  void adapt(Op linear) {
    ValueId x = linear.operands[0], weight = linear.operands[1],
            result = linear.results[0];
    // In the weight [to..., from...], `to` are the dimensions that the result
    // has and x lacks.
    size_t xs = module[x].dims.size(), ws = module[weight].dims.size(),
           ys = module[result].dims.size();
    size_t contracted = (xs + ws - ys) / 2;
    ValueId base = make(names.make(linear.name + ".base"), linear.range);
    module[base].dims = module[result].dims;
    linear.results[0] = base;
    push(linear);
    if (settings.dropout > 0)
      x = addDropout(linear, x);
    ValueId a = paramA(linear, weight, contracted);
    ValueId b = paramB(linear, weight, contracted);
    if (!isServer()) { // a server's adapters are not part of the model
      ir::Param& adapted = module[paramOf.at(weight)];
      adapted.loraA = ParamId(module.params.size() - 2);
      adapted.loraB = ParamId(module.params.size() - 1);
      adapted.loraScale = settings.scale;
    }
    ValueId low = addLinear(linear, "lora_a", x, a, contracted, 1.0);
    ValueId high = addLinear(linear, "lora_b", low, b, 1, settings.scale);
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
    op.attributes["p"] = settings.dropout;
    op.attributes["seed"] = recipe.integer("train.seed");
    op.attributes["stream"] = streams++;
    return infer(std::move(op), 0);
  }

  ValueId addLinear(const Op& linear, const char* name, ValueId x,
                    ValueId weight, size_t contracted, double alpha) {
    Op op = opLike(linear, isServer() ? OpKind::AdapterLinear : OpKind::Linear,
                   linear.name + "." + name);
    op.operands = {x, weight};
    if (isServer())
      op.operands.push_back(obtainInput(module, "adapters"));
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

  /// Adds A [rank, from...]. Its standard deviation is that of peft's uniform
  /// initialisation (Kaiming, a = sqrt 5): 1 / sqrt(3 * inputs).
  ValueId paramA(const Op& linear, ValueId weight, size_t contracted) {
    std::vector<ir::DimId> dims(module[weight].dims.end() - long(contracted),
                                module[weight].dims.end());
    int64_t inputs = sizeOf(dims);
    dims.insert(dims.begin(), rankDim);
    return param(linear, weight, "lora_a", "lora_A", std::move(dims),
                 {"normal", 1.0 / std::sqrt(3.0 * double(inputs))},
                 {settings.rank, inputs});
  }

  /// Adds B [to..., rank], initialised with zeros.
  ValueId paramB(const Op& linear, ValueId weight, size_t contracted) {
    std::vector<ir::DimId> dims(module[weight].dims.begin(),
                                module[weight].dims.end() - long(contracted));
    int64_t outputs = sizeOf(dims);
    dims.push_back(rankDim);
    return param(linear, weight, "lora_b", "lora_B", std::move(dims),
                 {"zeros", 0.0}, {outputs, settings.rank});
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
    if (isServer()) {
      dims.insert(dims.begin(), adaptersDim);
      hfShape.insert(hfShape.begin(), settings.servedAdapters);
      init = {"zeros", 0.0};
    }
    ir::Param param;
    param.name = names.make(linear.name + "." + part + ".weight");
    param.init = std::move(init);
    param.adapter = true;
    param.trainable = !isServer();
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
  Settings settings;
  diag::Engine& engine;
  ValueNames names;
  AdapterTargets targets;
  std::unordered_map<ValueId, ParamId> paramOf;
  ir::DimId rankDim = ir::DimId::none;
  ir::DimId adaptersDim = ir::DimId::none;
  int64_t streams = 0;
};

void adaptForTraining(ir::Module& module, const recipe::Recipe& recipe,
                      diag::Engine& engine) {
  for (ir::Param& param : module.params)
    param.trainable = false;
  Settings settings{.prefix = "adapter."};
  settings.rank = recipe.integer("adapter.rank");
  settings.scale = recipe.real("adapter.alpha") / double(settings.rank);
  settings.dropout = recipe.real("adapter.dropout");
  Lora(module, recipe, std::move(settings), engine).run();
}

void adaptForServing(ir::Module& module, const recipe::Recipe& recipe,
                     diag::Engine& engine) {
  Settings settings{.prefix = "serve.adapter_"};
  settings.rank = recipe.integer("serve.adapter_rank");
  settings.servedAdapters = recipe.integer("serve.adapters");
  Lora(module, recipe, std::move(settings), engine).run();
}

} // namespace

void adapt(ir::Module& module, const recipe::Recipe& recipe,
           diag::Engine& engine) {
  const recipe::Value* adapter = recipe.find("adapter");
  if (adapter && !adapter->isNone() && !recipe::serves(recipe))
    adaptForTraining(module, recipe, engine);
  if (recipe.find("serve.adapters") && recipe::serves(recipe) &&
      recipe.integer("serve.adapters") > 0)
    adaptForServing(module, recipe, engine);
}

} // namespace recipec::passes
