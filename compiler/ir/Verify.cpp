// Checks a module; see Verify.h.
//
// 1. References and names: every id is in range, names are unique, an op has
//    the operands and results that Ops.def states.
// 2. Life: a temporary is defined in its function before it is read, a saved
//    value in some function before.
// 3. Types and layouts: each op's operands and results agree in dimensions, in
//    how those are split, and in what is a partial sum. Only ops that are
//    linear in an operand let a partial sum of it through.

#include "compiler/ir/Verify.h"

#include "compiler/ir/Pieces.h"
#include "compiler/ir/Print.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>

namespace recipec::ir {

namespace {

class Verifier {
public:
  explicit Verifier(const Module& module) : module(module) {}

  std::vector<std::string> run() {
    names();
    values();
    references();
    if (!findings.empty())
      return findings; // what follows relies on sound references
    defined.resize(module.values.size());
    for (const Function& each : module.functions)
      function(each);
    return std::move(findings);
  }

private:
  // ---- references and names

  void find(std::string text) { findings.push_back(std::move(text)); }

  void find(const Op& op, const std::string& text) {
    find("in `" + functionName + "`: " + text + ": " + print(module, op));
  }

  bool inRange(ValueId id) const {
    return id == ValueId::none || size_t(id) < module.values.size();
  }

  void names() {
    std::unordered_set<std::string_view> seen;
    for (const Value& value : module.values)
      if (!seen.insert(value.name).second)
        find("two values are named `" + value.name + "`");
    seen.clear();
    for (const Dim& dim : module.dims)
      if (!seen.insert(dim.name).second)
        find("two dimensions are named `" + dim.name + "`");
  }

  void values() {
    for (const Value& value : module.values) {
      for (DimId dim : value.dims)
        if (size_t(dim) >= module.dims.size())
          find("`" + value.name + "` has a dimension that is none");
      if (module.isProgram && value.sharding.dims.size() != value.dims.size())
        find("the sharding of `" + value.name + "` is of another rank");
      if (findings.empty())
        sharding(value);
    }
  }

  void sharding(const Value& value) {
    AxisSet seen = value.sharding.partial;
    for (size_t i = 0; i < value.sharding.dims.size(); ++i) {
      AxisSet split = value.sharding.dims[i];
      if (!(split & seen).empty())
        find("`" + value.name + "` uses an axis twice");
      seen = seen | split;
      if (module[value.dims[i]].size % sizeOf(module, split) != 0)
        find("`" + value.name + "` is not split evenly");
    }
  }

  void references() {
    for (const Param& param : module.params) {
      if (param.value == ValueId::none || !inRange(param.value) ||
          !inRange(param.gradient))
        find("parameter `" + param.name + "` has no value");
      if (!param.trainable && param.gradient != ValueId::none)
        find("frozen parameter `" + param.name + "` has a gradient");
      if (param.hfRows > 0 && (param.hfShape.empty() || param.hfFirst < 0 ||
                               param.hfFirst > param.hfRows - param.hfShape[0]))
        find("parameter `" + param.name + "` begins at row " +
             std::to_string(param.hfFirst) + " of the " +
             std::to_string(param.hfRows) + " of its tensor elsewhere");
    }
    for (const auto& [role, value] : module.bindings)
      if (value == ValueId::none || !inRange(value))
        find("the binding `" + role + "` has no value");
    for (const Function& function : module.functions)
      for (const Op& op : function.ops)
        counts(function, op);
  }

  void counts(const Function& function, const Op& op) {
    std::string place = "in `" + function.name + "`: `" +
                        std::string(opName(op.kind)) + "` " + op.name;
    const OpTraits& expected = traits(op.kind);
    if (int(op.operands.size()) != expected.operands)
      find(place + " has " + std::to_string(op.operands.size()) +
           " operands instead of " + std::to_string(expected.operands));
    if (int(op.results.size()) != expected.results)
      find(place + " has " + std::to_string(op.results.size()) +
           " results instead of " + std::to_string(expected.results));
    for (const std::vector<ValueId>* list : {&op.operands, &op.results})
      for (ValueId id : *list)
        if (!inRange(id))
          find(place + " refers to a value that is none");
  }

  // ---- life

  void function(const Function& function) {
    functionName = function.name;
    std::vector<ValueId> locals;
    for (const Op& op : function.ops) {
      for (ValueId id : op.operands)
        if (id != ValueId::none && !isDefined(id))
          find(op, "`" + module[id].name + "` is read before it is defined");
      for (ValueId id : op.results) {
        if (id == ValueId::none)
          continue;
        defined[size_t(id)] = true;
        if (module[id].kind == ValueKind::temporary)
          locals.push_back(id);
        if (module[id].kind == ValueKind::input)
          find(op, "an input is written");
      }
      types(op);
    }
    for (ValueId id : locals)
      defined[size_t(id)] = isBound(id);
  }

  bool isBound(ValueId id) const {
    for (const auto& [role, value] : module.bindings)
      if (value == id)
        return true;
    return false;
  }

  bool isDefined(ValueId id) const {
    ValueKind kind = module[id].kind;
    return (kind != ValueKind::temporary && kind != ValueKind::saved) ||
           defined[size_t(id)];
  }

  // ---- types and layouts

  Pieces pieces(ValueId id) const { return piecesOf(module, id); }

  AxisSet partial(ValueId id) const { return module[id].sharding.partial; }

  void expect(const Op& op, bool condition, const char* text) {
    if (!condition)
      find(op, text);
  }

  void expectSame(const Op& op, ValueId left, ValueId right) {
    if (left == ValueId::none || right == ValueId::none)
      return;
    expect(op, pieces(left) == pieces(right), "dimensions differ");
  }

  void expectSameType(const Op& op, ValueId left, ValueId right) {
    if (left != ValueId::none && right != ValueId::none)
      expect(op, module[left].type == module[right].type,
             "element types differ");
  }

  /// No operand but those listed is a partial sum.
  void expectWhole(const Op& op, size_t first, size_t end) {
    for (size_t i = first; i < end; ++i)
      if (op.operands[i] != ValueId::none)
        expect(op, partial(op.operands[i]).empty(),
               "a partial sum goes into an op that is not linear");
  }

  void types(const Op& op) {
    switch (op.kind) {
    case OpKind::Embedding:
      return embedding(op);
    case OpKind::EmbeddingBackward:
      return gradient(op, 0, op.operands[1], {});
    case OpKind::Linear:
      return linear(op);
    case OpKind::LinearDgrad:
      return linearDgrad(op);
    case OpKind::LinearWgrad:
      return linearWgrad(op);
    case OpKind::Quantize:
    case OpKind::ScaledProduct:
    case OpKind::ScaledProductAdd:
    case OpKind::SwigluQuantize:
    case OpKind::SwigluBackwardQuantize:
    case OpKind::Transpose:
    case OpKind::PartMaximum:
    case OpKind::QuantizePart:
      for (const std::string& finding : findInQuantized(module, op))
        find(op, finding);
      return;
    case OpKind::LinearAdd:
    case OpKind::LinearJoint:
    case OpKind::LinearJointDgrad:
    case OpKind::LinearJointWgrad:
      return joint(op);
    case OpKind::AddBias:
    case OpKind::BiasBackward:
    case OpKind::RmsNorm:
    case OpKind::LayerNorm:
    case OpKind::RmsNormBackward:
    case OpKind::LayerNormBackward:
      for (const std::string& finding : findInNorms(module, op))
        find(op, finding);
      return;
    case OpKind::PositionScale:
    case OpKind::Rope:
      expectPrefix(op, op.operands[0], op.operands[1]);
      return linearIn(op, 1);
    case OpKind::Dropout:
      return linearIn(op, 1);
    case OpKind::Scale:
      return linearIn(op, 1);
    case OpKind::Add:
      expectSameType(op, op.operands[0], op.operands[1]);
      return linearIn(op, 2);
    case OpKind::Attention:
    case OpKind::AttentionCached:
    case OpKind::AttentionBackward:
    case OpKind::RingAttention:
    case OpKind::RingAttentionBackward:
      for (const std::string& finding : findInAttention(module, op))
        find(op, finding);
      return;
    case OpKind::Silu:
    case OpKind::Gelu:
    case OpKind::Relu2:
    case OpKind::Softcap:
    case OpKind::Swiglu:
    case OpKind::Mul:
    case OpKind::SiluBackward:
    case OpKind::GeluBackward:
    case OpKind::Relu2Backward:
    case OpKind::SoftcapBackward:
    case OpKind::SwigluBackward:
      return elementwise(op);
    case OpKind::Narrow:
    case OpKind::Pad:
    case OpKind::Concat:
    case OpKind::Broadcast:
    case OpKind::BroadcastBackward:
      for (const std::string& finding : findInParts(module, op))
        find(op, finding);
      return;
    case OpKind::Route:
    case OpKind::BalanceExperts:
    case OpKind::PackRows:
    case OpKind::UnpackRows:
    case OpKind::RouteBackward:
    case OpKind::Dispatch:
    case OpKind::DispatchBackward:
    case OpKind::Combine:
    case OpKind::CombineBackward:
    case OpKind::ExpertLinear:
    case OpKind::ExpertLinearDgrad:
    case OpKind::ExpertLinearWgrad:
      for (const std::string& finding : findInExperts(module, op))
        find(op, finding);
      return;
    case OpKind::CausalConv:
    case OpKind::CausalConvBackward:
    case OpKind::StateScan:
    case OpKind::StateScanBackward:
      for (const std::string& finding : findInStateSpace(module, op))
        find(op, finding);
      return;
    case OpKind::Cast:
      return expectSame(op, op.operands[0], op.results[0]);
    case OpKind::CopyBegin:
    case OpKind::CopyEnd:
      return copy(op);
    case OpKind::Zero:
      return;
    case OpKind::View:
      return view(op);
    case OpKind::SoftmaxMax:
    case OpKind::SoftmaxSum:
    case OpKind::SoftmaxStats:
    case OpKind::Nll:
    case OpKind::CrossEntropyBackward:
      return loss(op);
    case OpKind::AllReduce:
    case OpKind::AllGather:
    case OpKind::ReduceScatter:
    case OpKind::Slice:
    case OpKind::AllGatherStart:
    case OpKind::ReduceScatterDone:
      return collective(op);
    case OpKind::AllToAll:
      for (const std::string& finding : findInExperts(module, op))
        find(op, finding);
      return collective(op);
    case OpKind::AllGatherDone:
    case OpKind::ReduceScatterStart:
      return alike(op, op.operands[0], op.results[0]);
    case OpKind::SumSquares:
      return;
    case OpKind::AdamW:
      expectSame(op, op.operands[0], op.results[0]);
      expectSame(op, op.results[0], op.results[1]);
      expectSame(op, op.results[0], op.results[2]);
      return expectSame(op, op.results[0], op.results[3]);
    }
  }

  /// Between the device and the host; all other ops are the device's.
  void copy(const Op& op) {
    ValueId from = op.operands[0], to = op.results[0];
    expectSame(op, from, to);
    expectSameType(op, from, to);
    expect(op, partial(from) == partial(to), "partial sums differ");
    expect(op, module[from].onHost != module[to].onHost,
           "neither or both of a copy are on the host");
  }

  /// All operands and results are alike; none is a partial sum.
  void elementwise(const Op& op) {
    expectWhole(op, 0, op.operands.size());
    for (ValueId operand : op.operands) {
      expectSame(op, operand, op.results[0]);
      expectSameType(op, operand, op.results[0]);
    }
    for (ValueId result : op.results) {
      expectSame(op, result, op.results[0]);
      expect(op, partial(result).empty(), "the result is a partial sum");
    }
  }

  /// A run of a flat buffer, which is split and a sum over what it is.
  void view(const Op& op) {
    ValueId whole = op.operands[0], run = op.results[0];
    int64_t start = attribute<int64_t>(op, "start");
    expectSameType(op, whole, run);
    expect(op, partial(whole) == partial(run), "partial sums differ");
    expect(op,
           start >= 0 && start + localElements(module, run) <=
                             localElements(module, whole),
           "the run does not lie in its buffer");
  }

  /// Like elementwise in the first `count` operands, and linear in them
  /// together: a partial sum of all of them is one of the result.
  void linearIn(const Op& op, size_t count) {
    expectWhole(op, count, op.operands.size());
    for (size_t i = 0; i < count; ++i) {
      expectSame(op, op.operands[i], op.results[0]);
      expectSameType(op, op.operands[i], op.results[0]);
      expect(op, partial(op.operands[i]) == partial(op.results[0]),
             "partial sums differ");
    }
  }

  /// The dimensions of `shorter` are the first of `longer`.
  void expectPrefix(const Op& op, ValueId longer, ValueId shorter) {
    Pieces all = pieces(longer), first = pieces(shorter);
    expect(op,
           first.size() <= all.size() &&
               std::equal(first.begin(), first.end(), all.begin()),
           "leading dimensions differ");
  }

  void embedding(const Op& op) {
    Pieces table = pieces(op.operands[1]);
    Pieces expected = pieces(op.operands[0]);
    expected.push_back(table.back());
    expectWhole(op, 0, 2);
    expect(op, pieces(op.results[0]) == expected, "dimensions differ");
    expect(op, partial(op.results[0]) == table.front().split,
           "rows elsewhere make no partial sum");
  }

  /// x [lead..., k...], w [to..., k...], y [lead..., to...]: the sizes of the
  /// three follow from their ranks.
  struct Product {
    size_t lead, to, k;
  };
  Product productOf(ValueId x, ValueId w, ValueId y) const {
    size_t xs = module[x].dims.size(), ws = module[w].dims.size(),
           ys = module[y].dims.size();
    return {(xs + ys - ws) / 2, (ys + ws - xs) / 2, (xs + ws - ys) / 2};
  }

  void product(const Op& op, ValueId x, ValueId w, ValueId y) {
    Product sizes = productOf(x, w, y);
    Pieces xs = pieces(x), ws = pieces(w), ys = pieces(y);
    bool agree = xs.size() == sizes.lead + sizes.k &&
                 ys.size() == sizes.lead + sizes.to &&
                 part(xs, sizes.lead, sizes.k) == part(ws, sizes.to, sizes.k) &&
                 part(ys, sizes.lead, sizes.to) == part(ws, 0, sizes.to) &&
                 part(xs, 0, sizes.lead) == part(ys, 0, sizes.lead);
    expect(op, agree, "dimensions differ");
  }

  void linear(const Op& op) {
    linear(op, op.operands[0], op.operands[1], op.results[0]);
  }

  void linear(const Op& op, ValueId x, ValueId w, ValueId y) {
    product(op, x, w, y);
    Product sizes = productOf(x, w, y);
    AxisSet contracted = splitOf(part(pieces(w), sizes.to, sizes.k));
    expect(op, partial(w).empty(), "the weight is a partial sum");
    expect(op, partial(y) == (contracted | partial(x)),
           "the partial sum is not that of the contraction");
  }

  void linearDgrad(const Op& op) {
    linearDgrad(op, op.operands[0], op.operands[1], op.results[0]);
  }

  void linearDgrad(const Op& op, ValueId dy, ValueId w, ValueId dx) {
    product(op, dx, w, dy);
    Product sizes = productOf(dx, w, dy);
    AxisSet contracted = splitOf(part(pieces(w), 0, sizes.to));
    expect(op, partial(dx) == (contracted | partial(dy)),
           "the partial sum is not that of the contraction");
  }

  void linearWgrad(const Op& op) {
    linearWgrad(op, op.operands[0], op.operands[1], op.results[0]);
  }

  void linearWgrad(const Op& op, ValueId x, ValueId dy, ValueId dw) {
    product(op, x, dw, dy);
    Product sizes = productOf(x, dw, dy);
    gradient(op, sizes.lead, x, partial(x) | partial(dy), dw);
  }

  /// Products that one op makes: each is as by itself.
  void joint(const Op& op) {
    if (op.kind == OpKind::LinearAdd) {
      expectSame(op, op.operands[2], op.results[0]);
      expectSameType(op, op.operands[2], op.results[0]);
      expect(op, partial(op.operands[2]) == partial(op.results[0]),
             "partial sums differ");
      return linear(op);
    }
    for (size_t i = 0; i < 3; ++i) {
      const bool isDgrad = op.kind == OpKind::LinearJointDgrad;
      const ValueId own = op.operands[isDgrad ? i : i + 1];
      const ValueId other = isDgrad ? op.operands[3 + i] : op.results[i];
      expect(op, (own == ValueId::none) == (other == ValueId::none),
             "a product lacks a part");
      if (own == ValueId::none || other == ValueId::none)
        continue;
      if (isDgrad)
        linearDgrad(op, own, other, op.results[0]);
      else if (op.kind == OpKind::LinearJoint)
        linear(op, op.operands[0], own, other);
      else
        linearWgrad(op, op.operands[0], own, other);
    }
  }

  /// A gradient sums over the leading dimensions of `x`: it is a partial sum
  /// over what splits those, and over what its operands are partial sums over.
  /// `lead` 0 stands for all but the last.
  void gradient(const Op& op, size_t lead, ValueId x, AxisSet operands) {
    gradient(op, lead, x, operands, op.results.back());
  }

  void gradient(const Op& op, size_t lead, ValueId x, AxisSet operands,
                ValueId result) {
    if (result == ValueId::none)
      return;
    Pieces all = pieces(x);
    AxisSet summed = splitOf(part(all, 0, lead ? lead : all.size() - 1));
    AxisSet needed = summed | operands;
    expect(op, (partial(result) & needed) == needed,
           "the partial sum is not that of the gradient");
  }

  void loss(const Op& op) {
    expectWhole(op, 0, op.operands.size());
    if (op.kind == OpKind::CrossEntropyBackward)
      return expectSame(op, op.operands[0], op.results[0]);
    Pieces first = pieces(op.operands[0]);
    AxisSet summed = op.kind == OpKind::Nll ? splitOf(first) : AxisSet();
    if (op.kind == OpKind::SoftmaxSum)
      summed = first.back().split;
    // Stages without the loss add nothing to it.
    AxisSet stages =
        module.stages > 1 ? AxisSet(findAxis(module, "pp")) : AxisSet();
    expect(op, partial(op.results[0]) - stages == summed,
           "the partial sum is not that of the loss");
    if (op.kind == OpKind::SoftmaxStats) {
      expect(op, first.back().split.empty(), "the vocabulary is split");
      expectPrefix(op, op.operands[0], op.operands[1]);
      return expectPrefix(op, op.results[1], op.results[0]);
    }
    if (op.kind == OpKind::SoftmaxSum || op.kind == OpKind::Nll)
      expectPrefix(op, op.operands[op.kind == OpKind::Nll ? 1 : 0],
                   op.operands[op.kind == OpKind::Nll ? 0 : 1]);
  }

  // ---- collectives

  void collective(const Op& op) {
    ValueId from = op.operands[0], to = op.results[0];
    // Gradients and states are reduced where they lie; their sharding is that
    // of the time before.
    if (from == to)
      return expect(op, op.kind == OpKind::AllReduce && !op.group.empty(),
                    "only an all-reduce may be in place");
    Pieces expected = pieces(from);
    AxisSet sum = partial(from);
    AxisSet group = op.kind == OpKind::Slice ? axisAttribute(op) : op.group;
    expect(op, !group.empty(), "the group is empty");
    if (op.kind == OpKind::AllReduce) {
      if (attribute<std::string>(op, "reduce") != "max") {
        expect(op, (sum & group) == group, "there is no sum over the group");
        sum = sum - group;
      }
    } else if (!moveSplit(op, group, expected, sum)) {
      return;
    }
    expectSameType(op, from, to);
    expect(op, pieces(to) == expected && partial(to) == sum,
           "the result's layout is not the collective's");
  }

  /// What is on its way lies as it does before or behind.
  void alike(const Op& op, ValueId from, ValueId to) {
    expectSame(op, from, to);
    expectSameType(op, from, to);
    expect(op, partial(from) == partial(to), "partial sums differ");
  }

  bool moveSplit(const Op& op, AxisSet group, Pieces& layout, AxisSet& sum) {
    if (op.kind == OpKind::AllToAll)
      return exchangeSplit(op, group, layout);
    int64_t dim = attribute<int64_t>(op, "dim");
    if (dim < 0 || dim >= int64_t(layout.size())) {
      find(op, "the dimension is not there");
      return false;
    }
    AxisSet& split = layout[size_t(dim)].split;
    if (op.kind == OpKind::AllGather || op.kind == OpKind::AllGatherStart) {
      expect(op, (split & group) == group, "the group does not split it");
      split = split - group;
      return true;
    }
    expect(op, (splitOf(layout) & group).empty(), "the group splits it");
    split = split | group;
    if (op.kind != OpKind::Slice) {
      expect(op, (sum & group) == group, "there is no sum over the group");
      sum = sum - group;
    } else {
      expect(op, (sum & group).empty(), "a sum over the axis is sliced");
    }
    return true;
  }

  bool exchangeSplit(const Op& op, AxisSet group, Pieces& layout) {
    int64_t split = attribute<int64_t>(op, "split");
    int64_t concat = attribute<int64_t>(op, "concat");
    int64_t rank = int64_t(layout.size());
    if (split < 0 || split >= rank || concat < 0 || concat >= rank) {
      find(op, "the dimension is not there");
      return false;
    }
    AxisSet& joined = layout[size_t(concat)].split;
    expect(op, (joined & group) == group, "the group does not split it");
    joined = joined - group;
    layout[size_t(split)].split = layout[size_t(split)].split | group;
    return true;
  }

  template <class T> T attribute(const Op& op, const char* name) const {
    auto it = op.attributes.find(name);
    if (it == op.attributes.end())
      return T();
    const T* value = std::get_if<T>(&it->second);
    return value ? *value : T();
  }

  AxisSet axisAttribute(const Op& op) const {
    return findGroup(module, attribute<std::string>(op, "axis"));
  }

  const Module& module;
  std::vector<std::string> findings;
  std::string functionName;
  std::vector<bool> defined;
};

} // namespace

std::vector<std::string> verify(const Module& module) {
  return Verifier(module).run();
}

} // namespace recipec::ir
