// Reverse-mode differentiation of a sharded Program.
//
// 1. A value is active when it depends on a trainable parameter. Only active
//    values have a cotangent, so the backward pass ends at the first trainable
//    parameter.
// 2. The loss ops give the cotangent of the logits in one step
//    (cross_entropy_backward).
// 3. The ops of `forward` are visited in reverse. Each has a rule that turns
//    the cotangents of its results into those of its active operands.
//    Transposes of collectives: all_gather ↔ reduce_scatter, all_reduce ↔
//    identity, slice → all_gather, all_to_all ↔ all_to_all.
// 4. Cotangents are summed in place when no other value shares them, or by the
//    matmul or norm that computes the second one.
// 5. Values of `forward` that the rules read become `saved`. A cheap copy
//    (gathered, dropped or padded) is recomputed instead, in the layer that
//    reads it: another layer may be on another stage.
// 6. Gradients accumulate in one value per parameter. Their sharding keeps the
//    axes of partial sums; the optimizer pass reduces them.
//
// A cotangent is split like its value. The cotangent of a partial sum is the
// cotangent of the sum, on every rank. A cotangent may itself be a partial sum:
// rules that are linear in it and cost no more that way accept it, all others
// reduce it first.

#include "compiler/passes/differentiate/Differentiate.h"

#include "compiler/passes/ValueNames.h"
#include "compiler/passes/differentiate/Cotangents.h"
#include "compiler/passes/differentiate/GateGradients.h"
#include "runtime/ops/LossOps.h"
#include "runtime/ops/OpTable.h"

#include <algorithm>
#include <cassert>
#include <limits>
#include <optional>
#include <unordered_map>

namespace recipec::passes {

namespace {

using ir::AxisSet;
using ir::Op;
using ir::OpKind;
using ir::ParamId;
using ir::Sharding;
using ir::ValueId;
using ir::ValueKind;

class Differentiation final : public Cotangents {
public:
  explicit Differentiation(ir::Module& module)
      : Cotangents(module), forward(*ir::findFunction(module, "forward")),
        names(module), active(module.values.size()),
        makers(module.values.size(), -1), readers(module.values.size()),
        cotangents(module.values.size(), ValueId::none) {}

  void run() {
    addGradients();
    findActive();
    gatePaths.emplace(forward, [&](ValueId value) { return isActive(value); });
    for (size_t i = forward.ops.size(); i-- > 0 && forward.ops[i].layer < 0;)
      places[i] = std::numeric_limits<int>::max(); // after all layers
    for (size_t i = forward.ops.size(); i-- > 0;) {
      place = places[i];
      differentiate(forward.ops[i]);
    }
    balanceContributions();
    ir::obtainFunction(module, "backward").ops = std::move(backward);
  }

private:
  // ---- what depends on a trainable parameter

  void addGradients() {
    for (size_t i = 0; i < module.params.size(); ++i) {
      ir::Param& param = module.params[i];
      if (!param.trainable)
        continue;
      ir::Value value = module[param.value];
      value.kind = ValueKind::gradient;
      value.type = ir::accumulationType(value.type);
      value.name = names.make("grad." + param.name);
      param.gradient = ir::addValue(module, std::move(value));
      trained.emplace(param.value, ParamId(i));
      active[size_t(param.value)] = true;
    }
  }

  void findActive() {
    int layer = -1;
    for (size_t i = 0; i < forward.ops.size(); ++i) {
      const Op& op = forward.ops[i];
      places.push_back(layer = std::max(layer, op.layer));
      bool reached = false;
      for (ValueId operand : op.operands) {
        if (operand == ValueId::none)
          continue;
        reached = reached || isActive(operand);
        ++readers[size_t(operand)];
      }
      for (ValueId result : op.results) {
        if (result == ValueId::none)
          continue;
        makers[size_t(result)] = int(i);
        active[size_t(result)] = reached;
      }
    }
  }

  bool isActive(ValueId value) const override { return active[size_t(value)]; }

  bool isTrained(ValueId weight) const override {
    return trained.contains(weight);
  }

  // ---- values and ops of the backward pass

  /// A temporary like a value of `forward`: its cotangent or a copy.
  ValueId makeLike(ValueId value, const std::string& name, Sharding sharding) {
    ir::Value made = module[value];
    made.kind = ValueKind::temporary;
    made.name = names.make(name);
    made.sharding = std::move(sharding);
    return ir::addValue(module, std::move(made));
  }

  /// A new cotangent of `value`, a partial sum over `partial`.
  ValueId makeCotangent(ValueId value, AxisSet partial = {}) override {
    return makeLike(value, "d." + module[value].name,
                    {shardingOf(value).dims, partial});
  }

  /// In the type of gates.
  ValueId makeDots(ValueId rows, AxisSet partial) override {
    const std::vector<AxisSet> split = shardingOf(rows).dims;
    ValueId made = makeLike(rows, "dots." + module[rows].name,
                            {{split[0], split[1], {}}, partial});
    ir::Value& dots = module[made];
    dots.type = ir::accumulationType(module.compute);
    dots.dims.resize(2);
    dots.dims.push_back(ir::constantDim(module, 1));
    return made;
  }

  const GatePath* gatePathFrom(ValueId value) const override {
    return gatePaths->from(value);
  }

  bool hasGatePaths(const Op& combine) const override {
    return gatePaths->leadTo(combine);
  }

  Op& emit(Op op) override { return backward.emplace_back(std::move(op)); }

  /// The saved or recomputed value of `forward` for the backward pass.
  ValueId read(ValueId value) override {
    if (module[value].kind != ValueKind::temporary)
      return value;
    const size_t number = size_t(makers[size_t(value)]);
    const Op& maker = forward.ops[number];
    bool isCheap = maker.kind == OpKind::AllGather ||
                   maker.kind == OpKind::Dropout || maker.kind == OpKind::Pad;
    if (!isCheap || places[number] != place) {
      module[value].kind = ValueKind::saved;
      return value;
    }
    auto known = copies.find(value);
    if (known != copies.end())
      return known->second;
    Op again = maker;
    for (ValueId& operand : again.operands)
      operand = read(operand);
    again.results = {
        makeLike(value, "again." + module[value].name, shardingOf(value))};
    copies.emplace(value, again.results[0]);
    emit(std::move(again));
    return copies.at(value);
  }

  // ---- cotangents

  /// The cotangent of a result. It must be taken once for each result.
  ValueId take(ValueId value) override {
    ValueId cotangent = cotangents[size_t(value)];
    if (cotangent != ValueId::none)
      --owners[cotangent];
    return cotangent;
  }

  /// Reduces a cotangent that is a partial sum.
  ValueId complete(ValueId cotangent, const Op& source) override {
    Sharding sharding = shardingOf(cotangent);
    AxisSet sums = sharding.partial;
    if (sums.empty())
      return cotangent;
    sharding.partial = {};
    ValueId result =
        makeLike(cotangent, module[cotangent].name + ".all_reduce", sharding);
    Op& op = emit(opFor(source, OpKind::AllReduce, {cotangent}, {result}));
    op.group = sums;
    op.attributes["reduce"] = std::string("sum");
    return result;
  }

  /// Adds a contribution to the cotangent of an active operand.
  void push(ValueId value, ValueId contribution, const Op& source) override {
    ValueId& cotangent = cotangents[size_t(value)];
    if (cotangent == ValueId::none) {
      cotangent = contribution;
      ++owners[contribution];
      return;
    }
    ValueId sum = cotangent;
    --owners[sum];
    if (shardingOf(sum).partial != shardingOf(contribution).partial) {
      sum = complete(sum, source);
      contribution = complete(contribution, source);
    }
    ValueId target =
        owners[contribution] == 0 ? contribution
        : owners[sum] == 0
            ? sum
            : makeLike(sum, "d." + module[value].name, shardingOf(sum));
    emit(opFor(source, OpKind::Add, {sum, contribution}, {target}));
    ++owners[target];
    cotangents[size_t(value)] = target;
  }

  // ---- rules

  void differentiate(const Op& op) {
    const ops::OpFamily family = ops::infoOf(op.kind).family;
    if (family == ops::OpFamily::loss)
      return differentiateLoss(op);
    if (op.kind == OpKind::Route)
      return differentiateRoute(*this, op);
    ValueId dy = take(op.results[0]);
    if (dy == ValueId::none || !isActive(op.results[0]))
      return;
    // The rule of swiglu computes the dot products in the same pass.
    const GatePath* path = gatePathFrom(op.results[0]);
    if (path && op.kind != OpKind::Swiglu) {
      dy = complete(dy, op);
      differentiateGates(*this, *path, op, dy);
    }
    switch (family) {
    case ops::OpFamily::activations:
      return differentiateActivation(*this, op, dy);
    case ops::OpFamily::attention:
      return differentiateAttention(*this, op, dy);
    case ops::OpFamily::collectives:
      return differentiateCollective(*this, op, dy);
    case ops::OpFamily::dense:
      return differentiateDense(*this, op, dy);
    case ops::OpFamily::experts:
      return differentiateExperts(*this, op, dy);
    case ops::OpFamily::moves:
      return differentiateMove(*this, op, dy);
    case ops::OpFamily::norms:
      return differentiateNorm(*this, op, dy);
    case ops::OpFamily::stateSpace:
      return differentiateStateSpace(*this, op, dy);
    case ops::OpFamily::loss:
    case ops::OpFamily::optimizer:
    case ops::OpFamily::quantization:
    case ops::OpFamily::sampling:
      assert(false && "an op of `forward` has no gradient");
    }
  }

  /// The rule of nll covers the whole loss; the softmax ops need none.
  void differentiateLoss(const Op& op) {
    switch (ops::ForwardLossOp(op.kind)) {
    case ops::ForwardLossOp::Nll:
      return loss(op);
    case ops::ForwardLossOp::SoftmaxMax:
    case ops::ForwardLossOp::SoftmaxSum:
      break;
    }
  }

  /// Computes the cotangent of the logits directly from the loss, skipping the
  /// ops into which the softmax is split. When only the loss reads the logits,
  /// the largest activation, the cotangent reuses their buffer.
  void loss(const Op& nll) {
    const Op& sum = findSoftmaxSum(nll.operands[1]);
    ValueId logits = sum.operands[0];
    if (!isActive(logits))
      return;
    bool isReadByLossAlone = readers[size_t(logits)] == 2;
    ValueId stats = read(nll.operands[1]), max = read(nll.operands[0]);
    ValueId dlogits = isReadByLossAlone ? read(logits) : makeCotangent(logits);
    Op& op = emit(opFor(nll, OpKind::CrossEntropyBackward,
                        {read(logits), max, stats, read(sum.operands[2]),
                         read(nll.operands[2]), nll.operands[3]},
                        {dlogits}));
    op.group = sum.group; // the ranks that split the vocabulary
    push(logits, dlogits, nll);
  }

  /// The softmax_sum that computes the statistics, which a collective may have
  /// reduced afterwards.
  const Op& findSoftmaxSum(ValueId stats) const {
    const Op* maker = &forward.ops[size_t(makers[size_t(stats)])];
    while (maker->kind != OpKind::SoftmaxSum)
      maker = &forward.ops[size_t(makers[size_t(maker->operands[0])])];
    return *maker;
  }

  ValueId sumOf(ValueId value, ValueId dy, AxisSet partial) const override {
    ValueId sum = cotangents[size_t(value)];
    bool isOwn = sum != ValueId::none && sum != dy && owners.at(sum) == 1 &&
                 shardingOf(sum).partial == partial;
    return isOwn ? sum : ValueId::none;
  }

  void retain(ValueId cotangent) override { ++owners[cotangent]; }
  void release(ValueId cotangent) override { --owners[cotangent]; }

  // ---- gradients of parameters

  ValueId gradientOf(ValueId weight) const override {
    return module[trained.at(weight)].gradient;
  }

  /// Records that the last op adds a partial sum over `partial` to the gradient
  /// of `weight`.
  void contribute(ValueId weight, AxisSet partial) override {
    AxisSet& all = module[gradientOf(weight)].sharding.partial;
    all = all | partial;
    contributions.push_back({backward.size() - 1, weight, partial});
  }

  /// A gradient that is a partial sum over an axis may also get contributions
  /// that are replicated along it (a weight shared by ops of different
  /// layouts). Each rank then adds its fraction of them.
  void balanceContributions() {
    std::vector<Op> balanced;
    size_t next = 0;
    for (const Contribution& each : contributions) {
      AxisSet missing =
          module[gradientOf(each.weight)].sharding.partial - each.partial;
      if (missing.empty())
        continue;
      std::move(backward.begin() + long(next), backward.begin() + long(each.op),
                std::back_inserter(balanced));
      next = each.op + 1;
      weigh(backward[each.op], 1.0 / double(ir::sizeOf(module, missing)),
            balanced);
    }
    if (next == 0)
      return;
    std::move(backward.begin() + long(next), backward.end(),
              std::back_inserter(balanced));
    backward = std::move(balanced);
  }

  /// Appends an op and multiplies its contribution to a gradient by `factor`.
  /// Never called for parameters of state spaces, which ops do not share.
  void weigh(Op op, double factor, std::vector<Op>& target) {
    assert(op.kind != OpKind::CausalConvBackward &&
           op.kind != OpKind::StateScanBackward && "a weight is shared");
    if (op.kind == OpKind::LinearWgrad ||
        op.kind == OpKind::ExpertLinearWgrad) {
      op.attributes["alpha"] = op.attributes.real("alpha", 1) * factor;
      target.push_back(std::move(op));
      return;
    }
    size_t place = op.kind == OpKind::EmbeddingBackward ? 1 : 0;
    ValueId dy = op.operands[place];
    ValueId part = makeLike(dy, module[dy].name + ".part", shardingOf(dy));
    Op& scale = target.emplace_back(opFor(op, OpKind::Scale, {dy}, {part}));
    scale.attributes["alpha"] = factor;
    Op weighted = op;
    weighted.operands[place] = part;
    if (op.kind == OpKind::RmsNormBackward ||
        op.kind == OpKind::LayerNormBackward) {
      // The first op computes the operand's own cotangent, which must stay
      // unscaled.
      weighted.results[0] =
          makeLike(part, module[part].name + ".unused", shardingOf(part));
      weighted.attributes.erase("accumulate");
      op.results[1] = ValueId::none;
      target.push_back(std::move(op));
    }
    target.push_back(std::move(weighted));
  }

  struct Contribution {
    size_t op; // index in the backward pass
    ValueId weight;
    AxisSet partial;
  };

  const ir::Function& forward;
  ValueNames names;
  std::vector<bool> active; // by value of `forward`, like the next three
  std::vector<int> makers;
  std::vector<int> readers;
  std::vector<ValueId> cotangents;
  std::vector<int> places; // layer of each op of `forward`
  int place = -1;          // layer of the current op
  /// By cotangent: the number of `forward`'s values that still use it.
  std::unordered_map<ValueId, int> owners;
  std::unordered_map<ValueId, ValueId> copies;
  std::unordered_map<ValueId, ParamId> trained;
  std::optional<GatePaths> gatePaths;
  std::vector<Contribution> contributions;
  std::vector<Op> backward;
};

} // namespace

void differentiate(ir::Module& module) {
  assert(ir::findFunction(module, "forward") && "there is something to do");
  moveGatesToRouters(*ir::findFunction(module, "forward"));
  Differentiation(module).run();
}

} // namespace recipec::passes
