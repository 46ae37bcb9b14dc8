// Most parts are identified by the kind of an op, or by a dimension of its
// result.
//
// For latent attention:
// 1. Walk back from the operands of `attention`, within its layer, to the
//    nearest matmuls with weights and collectives.
// 2. A matmul whose operand lacks the width of the residual stream reads a
//    latent. If there is one, it, the quantization of its operand and all ops
//    between it and `attention` belong to the part. Adapter weights are
//    ignored, because they read the adapter's rank.

#include "compiler/passes/differentiate/RecomputedModules.h"

#include "compiler/passes/build/ExpertRouting.h"
#include "runtime/ops/OpTable.h"

#include <algorithm>
#include <cassert>
#include <iterator>
#include <string>
#include <unordered_map>
#include <unordered_set>

namespace recipec::passes {
namespace {

using ir::Op;
using ir::OpKind;
using ir::ValueId;

bool isAttention(const Op& op) {
  return op.kind == OpKind::Attention || op.kind == OpKind::RingAttention;
}

bool isNorm(const Op& op) {
  return op.kind == OpKind::RmsNorm || op.kind == OpKind::LayerNorm;
}

bool isActivation(const Op& op) {
  return ops::traitsOf(op.kind).isActivation;
}

/// Whether an op multiplies by a weight. Its first two operands are the matrix
/// and the weight, in fp8 for all but a Linear.
bool isWeightMatmul(const Op& op) {
  return op.kind == OpKind::Linear || op.kind == OpKind::ScaledMatmul ||
         op.kind == OpKind::ScaledMatmulAdd;
}

/// Whether the walk back from attention ends at this op.
bool endsWay(const Op& op) {
  return isWeightMatmul(op) || op.kind == OpKind::Embedding ||
         isAttention(op) || ops::traitsOf(op.kind).isCollective;
}

class LatentAttention {
public:
  LatentAttention(const ir::Module& module, const std::vector<Op>& ops)
      : module(module), ops(ops), selected(ops.size()) {
    for (const ir::Param& param : module.params)
      if (param.adapter)
        adapters.insert(param.value);
    for (size_t i = 0; i < ops.size(); ++i) {
      if (ops[i].kind == OpKind::Embedding && residual == ir::DimId::none)
        residual = module[ops[i].results[0]].dims.back();
      for (ValueId result : ops[i].results)
        if (result != ValueId::none)
          makers[result] = i;
    }
  }

  std::vector<bool> run() {
    for (const Op& op : ops)
      if (isAttention(op))
        select(op);
    return std::move(selected);
  }

private:
  void select(const Op& attention) {
    std::vector<size_t> way;
    std::vector<ValueId> left(attention.operands.begin(),
                              attention.operands.begin() + 3);
    std::unordered_set<ValueId> seen;
    bool hasLatent = false;
    while (!left.empty()) {
      ValueId value = left.back();
      left.pop_back();
      auto maker = makers.find(value);
      if (maker == makers.end() || !seen.insert(value).second)
        continue;
      const Op& op = ops[maker->second];
      if (op.layer != attention.layer)
        continue;
      if (readsLatent(op))
        hasLatent = true;
      else if (endsWay(op))
        continue;
      way.push_back(maker->second);
      if (!isWeightMatmul(op))
        left.insert(left.end(), op.operands.begin(), op.operands.end());
      else if (const auto cast = makers.find(op.operands[0]);
               cast != makers.end() &&
               ops[cast->second].kind == OpKind::Quantize)
        way.push_back(cast->second);
    }
    for (size_t i : way)
      selected[i] = selected[i] || hasLatent;
  }

  bool readsLatent(const Op& op) const {
    if (!isWeightMatmul(op) || adapters.contains(op.operands[1]))
      return false;
    const std::vector<ir::DimId>& dims = module[op.operands[0]].dims;
    return std::find(dims.begin(), dims.end(), residual) == dims.end();
  }

  const ir::Module& module;
  const std::vector<Op>& ops;
  std::vector<bool> selected;
  std::unordered_set<ValueId> adapters;
  std::unordered_map<ValueId, size_t> makers;
  ir::DimId residual = ir::DimId::none; // width of the residual stream
};

bool makesDim(const ir::Module& module, const Op& op, std::string_view name) {
  const std::vector<ir::DimId>& dims = module[op.results[0]].dims;
  return std::any_of(dims.begin(), dims.end(),
                     [&](ir::DimId dim) { return module[dim].name == name; });
}

struct Part {
  std::string_view name;
  bool (*contains)(const ir::Module&, const Op&); // null: latent attention
  std::string_view absent;                        // "the model has no ..."
};

constexpr Part parts[] = {
    {"attention",
     [](const ir::Module&, const Op& op) { return isAttention(op); },
     "attention"},
    {"norm", [](const ir::Module&, const Op& op) { return isNorm(op); },
     "norms"},
    {"activation",
     [](const ir::Module&, const Op& op) { return isActivation(op); },
     "activations"},
    {"mlp",
     [](const ir::Module& module, const Op& op) {
       return makesDim(module, op, "ffn");
     },
     "values with a dimension `ffn`"},
    {"experts",
     [](const ir::Module& module, const Op& op) {
       return op.kind == OpKind::Combine || makesDim(module, op, groupsDim) ||
              makesDim(module, op, "expert_ffn"); // of shared experts
     },
     "experts"},
    {"mla_up", nullptr, "attention over latents"},
};

const Part& findPart(std::string_view name) {
  const auto* part =
      std::find_if(std::begin(parts), std::end(parts),
                   [&](const Part& each) { return each.name == name; });
  assert(part != std::end(parts) && "schema/memory.recipe lists the parts");
  return *part;
}

/// The ops for which `contains` holds, and those that quantize their results to
/// fp8.
template <class Contains>
std::vector<bool> opsThat(const std::vector<Op>& ops, Contains contains) {
  std::vector<bool> selected;
  std::unordered_set<ValueId> made; // by ops of the part
  for (const Op& op : ops) {
    // A quantized copy belongs to the part of its source.
    bool isCast = op.kind == OpKind::Quantize && made.contains(op.operands[0]);
    selected.push_back(isCast || contains(op));
    if (selected.back())
      made.insert(op.results.begin(), op.results.end());
  }
  return selected;
}

} // namespace

std::vector<bool> opsOfModule(const ir::Module& module, std::string_view name) {
  const Part& part = findPart(name);
  const std::vector<Op>& ops = ir::findFunction(module, "forward")->ops;
  if (!part.contains)
    return LatentAttention(module, ops).run();
  return opsThat(ops, [&](const Op& op) { return part.contains(module, op); });
}

std::vector<bool> opsOfSecondPass(const ir::Module& module) {
  return opsThat(ir::findFunction(module, "forward")->ops, [&](const Op& op) {
    return op.kind != OpKind::PackRows && makesDim(module, op, secondPassDim);
  });
}

std::vector<bool> opsOfStateSpaces(const ir::Module& module) {
  std::vector<bool> selected;
  std::unordered_set<ValueId> ofConvolutions, ofScans;
  for (const Op& op : ir::findFunction(module, "forward")->ops) {
    const bool isConvolved =
        op.kind == OpKind::CausalConv ||
        ((op.kind == OpKind::AddBias || isActivation(op)) &&
         ofConvolutions.contains(op.operands[0]));
    const bool isGate =
        op.kind == OpKind::Swiglu && ofScans.contains(op.operands[1]);
    if (isConvolved)
      ofConvolutions.insert(op.results[0]);
    if (op.kind == OpKind::StateScan)
      ofScans.insert(op.results[0]);
    selected.push_back(isConvolved || isGate || op.kind == OpKind::StateScan);
  }
  return selected;
}

void checkRecompute(const ir::Module& graph, const recipe::Recipe& recipe,
                    diag::Engine& engine) {
  const auto& modules =
      std::get<recipe::List>(recipe.at("memory.recompute_modules").data);
  const bool isOnly = modules.size() == 1;
  for (const recipe::Value& value : modules) {
    const auto& name = std::get<std::string>(value.data);
    std::vector<bool> selected = opsOfModule(graph, name);
    if (std::find(selected.begin(), selected.end(), true) != selected.end())
      continue;
    engine
        .report(diag::Kind::InvalidValue, value.origin.range,
                "`recompute_modules` names \"" + name +
                    "\", and the model has no " +
                    std::string(findPart(name).absent))
        .help(isOnly ? "leave `recompute_modules` out: attention is then "
                       "computed again"
                     : "leave \"" + name + "\" out");
  }
}

} // namespace recipec::passes
