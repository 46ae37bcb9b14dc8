// Infers dimensions and types of results, op by op; see InferDims.h.
//
// Dimensions match by name and size, never only by size: a model that adds
// [batch, sequence, hidden] to [batch, sequence, ffn] is wrong even when both
// are 4096. The message for one name with two sizes says so.

#include "compiler/passes/build/InferDims.h"

#include "compiler/passes/ValueNames.h"
#include "compiler/passes/build/DimMessages.h"
#include "compiler/passes/build/ExpertRouting.h"
#include "compiler/passes/build/StateSpaceDims.h"
#include "runtime/ops/ActivationOps.h"
#include "runtime/ops/AttentionOps.h"
#include "runtime/ops/DenseOps.h"
#include "runtime/ops/ExpertOps.h"
#include "runtime/ops/LossOps.h"
#include "runtime/ops/NormOps.h"
#include "runtime/ops/OpTable.h"
#include "runtime/ops/StateSpaceOps.h"

#include <algorithm>
#include <span>

namespace recipec::passes {

namespace {

using ir::DimId;
using ir::ValueId;

/// The name that the library's models give the dimension of token ids.
constexpr std::string_view vocabDim = "vocab";

class Inference {
public:
  Inference(ir::Module& module, const ir::Op& op, size_t contracted,
            diag::Engine& engine)
      : module(module), op(op), contracted(contracted), engine(engine) {}

  bool run() {
    if (!ops::traitsOf(op.kind).isForward)
      return true; // the pass that makes the op sets its types
    switch (ops::infoOf(op.kind).family) {
    case ops::OpFamily::activations:
      return activation();
    case ops::OpFamily::attention:
      return attentionOp();
    case ops::OpFamily::dense:
      return dense();
    case ops::OpFamily::experts:
      return experts();
    case ops::OpFamily::loss:
      return lossOp();
    case ops::OpFamily::norms:
      return normOp();
    case ops::OpFamily::stateSpace:
      return stateSpace();
    case ops::OpFamily::collectives:
    case ops::OpFamily::moves:
    case ops::OpFamily::optimizer:
    case ops::OpFamily::quantization:
    case ops::OpFamily::sampling:
      return true; // set by the pass that makes the op
    }
    return true;
  }

private:
  using Dims = std::vector<DimId>;

  // ---- by family of ops

  bool activation() {
    switch (ops::ForwardActivationOp(op.kind)) {
    case ops::ForwardActivationOp::Add:
    case ops::ForwardActivationOp::Mul:
    case ops::ForwardActivationOp::Swiglu:
      return pair();
    case ops::ForwardActivationOp::Silu:
    case ops::ForwardActivationOp::Gelu:
    case ops::ForwardActivationOp::Relu2:
    case ops::ForwardActivationOp::Sigmoid:
    case ops::ForwardActivationOp::Softcap:
    case ops::ForwardActivationOp::Scale:
      return like(0);
    case ops::ForwardActivationOp::Dropout:
      return byToken();
    }
    return true;
  }

  bool attentionOp() {
    switch (ops::ForwardAttentionOp(op.kind)) {
    case ops::ForwardAttentionOp::Rope:
      return rope();
    case ops::ForwardAttentionOp::PositionScale:
      return byToken();
    case ops::ForwardAttentionOp::Attention:
      return attention();
    case ops::ForwardAttentionOp::RingAttention:
      return true; // copied from the attention
    }
    return true;
  }

  bool dense() {
    switch (ops::ForwardDenseOp(op.kind)) {
    case ops::ForwardDenseOp::Embedding:
      return embedding();
    case ops::ForwardDenseOp::Linear:
      return linear();
    case ops::ForwardDenseOp::AdapterLinear:
      return adapterLinear();
    case ops::ForwardDenseOp::AddBias:
      return addBias();
    }
    return true;
  }

  bool experts() {
    switch (ops::ForwardExpertOp(op.kind)) {
    case ops::ForwardExpertOp::Dispatch:
      return isTokens(0);
    case ops::ForwardExpertOp::ExpertLinear:
      return expertLinear();
    case ops::ForwardExpertOp::Combine:
      return combine();
    case ops::ForwardExpertOp::Route:
    case ops::ForwardExpertOp::PackRows:
    case ops::ForwardExpertOp::UnpackRows:
      return true; // set by the op's builder
    }
    return true;
  }

  bool lossOp() {
    switch (ops::ForwardLossOp(op.kind)) {
    case ops::ForwardLossOp::SoftmaxMax:
    case ops::ForwardLossOp::SoftmaxSum:
    case ops::ForwardLossOp::Nll:
      return loss();
    }
    return true;
  }

  bool normOp() {
    switch (ops::ForwardNormOp(op.kind)) {
    case ops::ForwardNormOp::RmsNorm:
    case ops::ForwardNormOp::LayerNorm:
      return norm();
    }
    return true;
  }

  bool stateSpace() {
    switch (ops::ForwardStateSpaceOp(op.kind)) {
    case ops::ForwardStateSpaceOp::CausalConv:
      return like(0);
    case ops::ForwardStateSpaceOp::StateScan:
      stateScan();
      return true;
    }
    return true;
  }

  /// The result has the dimensions of an operand.
  bool like(size_t operand) {
    set(0, dims(operand));
    return true;
  }

  const Dims& dims(size_t operand) const {
    return module[op.operands[operand]].dims;
  }

  void set(size_t result, Dims dims) {
    set(result, std::move(dims), module.compute);
  }

  void set(size_t result, Dims dims, ir::DType type) {
    ir::Value& value = module[op.results[result]];
    value.dims = std::move(dims);
    value.type = type;
  }

  bool same(std::span<const DimId> left, std::span<const DimId> right) const {
    return std::equal(
        left.begin(), left.end(), right.begin(), right.end(),
        [this](DimId l, DimId r) { return sameDim(module, l, r); });
  }

  // ---- messages

  std::string describe(std::span<const DimId> dims) const {
    std::string text = "[";
    for (size_t i = 0; i < dims.size(); ++i) {
      if (i > 0)
        text += ", ";
      text += sized(dims[i]);
    }
    return text + "]";
  }

  /// `` `heads` = 32 ``
  std::string sized(DimId dim) const {
    return "`" + std::string(dimName(dim)) +
           "` = " + std::to_string(module[dim].size);
  }

  /// The name in the user's model. The module adds a number when one name has
  /// two sizes.
  std::string_view dimName(DimId dim) const {
    std::string_view name = module[dim].name;
    return name.substr(0, name.find('.'));
  }

  diag::Builder mismatch(std::string message) {
    return engine.report(diag::Kind::ShapeMismatch, op.range,
                         std::move(message));
  }

  /// Reports a mismatch between the dimensions `expected` and `found`.
  bool differ(std::span<const DimId> expected, std::span<const DimId> found,
              const std::string& rule, const std::string& help = {},
              std::initializer_list<size_t> made = {}) {
    for (size_t i = 0; i < std::min(expected.size(), found.size()); ++i) {
      if (sameDim(module, expected[i], found[i]))
        continue;
      if (dimName(expected[i]) != dimName(found[i]))
        break;
      std::string name(dimName(found[i]));
      mismatch("`" + name + "` is " + std::to_string(module[found[i]].size) +
               " here and " + std::to_string(module[expected[i]].size) +
               " there")
          .label(rule)
          .label(module[found[i]].range,
                 "`" + name + "` is " + std::to_string(module[found[i]].size) +
                     " here")
          .label(module[expected[i]].range,
                 "and " + std::to_string(module[expected[i]].size) + " there");
      return false;
    }
    auto builder = mismatch(rule + ", and not " + describe(found));
    if (op.kind == ir::OpKind::Add || op.kind == ir::OpKind::Mul)
      labelOperands(builder);
    for (size_t i : made) {
      const ir::Value& value = module[op.operands[i]];
      const std::string_view name = ops::infoOf(op.kind).operands[i].name;
      const ir::Op* maker = linearBehind(module, op.operands[i]);
      const SourceRange place = maker ? maker->range : value.range;
      if (place.isValid())
        builder.label(place, "`" + std::string(name) + "` is " +
                                 describe(std::span(dims(i)).subspan(2)) +
                                 (maker ? " from here" : " here"));
    }
    labelDifference(builder, expected, found);
    if (!help.empty())
      builder.help(help);
    return false;
  }

  /// `` `hidden` `` or `` `[heads, head_dim]` ``, as in a mapping of
  /// dimensions.
  std::string mapped(std::span<const DimId> dims) const {
    std::string text;
    for (DimId dim : dims)
      text += (text.empty() ? "" : ", ") + std::string(dimName(dim));
    return dims.size() == 1 ? "`" + text + "`" : "`[" + text + "]`";
  }

  /// Labels each operand with its dimensions, at the place that made it.
  void labelOperands(diag::Builder& builder) {
    for (ir::ValueId operand : op.operands) {
      const ir::Value& value = module[operand];
      if (value.range.isValid() && value.range != op.range)
        builder.label(value.range, "this is " + describe(value.dims));
    }
  }

  /// Labels the first two dimensions that differ, in the place where their
  /// sizes are given.
  void labelDifference(diag::Builder& builder, std::span<const DimId> expected,
                       std::span<const DimId> found) {
    for (size_t i = 0; i < std::min(expected.size(), found.size()); ++i) {
      if (sameDim(module, expected[i], found[i]))
        continue;
      for (DimId dim : {expected[i], found[i]})
        if (module[dim].range.isValid())
          builder.label(module[dim].range, sized(dim));
      return;
    }
  }

  std::string opText() const {
    return "`" + std::string(ops::opName(op.kind)) + "`";
  }

  // ---- ops

  bool pair() {
    if (!same(dims(0), dims(1)))
      return differ(dims(0), dims(1),
                    opText() + " takes two operands of one shape, here " +
                        describe(dims(0)),
                    isExpertRows(dims(0)) != isExpertRows(dims(1))
                        ? "these are rows of experts: `combine` adds up those "
                          "of each token"
                        : linearBetween(dims(1), dims(0)));
    set(0, dims(0));
    return true;
  }

  /// A hint that proposes a linear between the operands, when only their last
  /// dimensions differ.
  std::string linearBetween(std::span<const DimId> from,
                            std::span<const DimId> to) const {
    if (from.size() != to.size() || from.empty() ||
        !same(from.first(from.size() - 1), to.first(to.size() - 1)))
      return {};
    if (module[from.back()].size == module[to.back()].size &&
        linearBehind(module, op.operands[1]))
      return mapped(from.last(1)) + " and " + mapped(to.last(1)) +
             " are two dimensions of one size: write `-> " +
             std::string(dimName(to.back())) + "` in the `linear`";
    return "bring one to the shape of the other: `linear(..., " +
           std::string(dimName(from.back())) + " -> " +
           std::string(dimName(to.back())) + ", name = \"...\")`";
  }

  bool embedding() {
    const Dims& table = dims(1);
    if (table.size() != 2)
      return differ({}, table, "`embedding` takes a table [vocabulary, width]");
    if (dimName(table[1]) == vocabDim && dimName(table[0]) != vocabDim)
      return transposedTable(table);
    Dims result = dims(0);
    result.push_back(table[1]);
    set(0, std::move(result));
    return true;
  }

  /// The vocabulary must come first: each token looks up a row.
  bool transposedTable(const Dims& table) {
    std::string order = "[" + std::string(dimName(table[1])) + ", " +
                        std::string(dimName(table[0])) + "]";
    auto builder =
        mismatch("`embedding` takes a table " + order +
                 ", a row for each token, and not " + describe(table));
    SourceRange place = module[op.operands[1]].range;
    if (place.isValid() && place != op.range)
      builder.label(place, "the table is made here");
    builder.help("write its dimensions as `" + order + "`");
    return false;
  }

  /// x [lead..., from...], w [to..., from...] → [lead..., to...].
  bool linear() {
    const Dims& x = dims(0);
    const Dims& w = dims(1);
    std::span<const DimId> from = std::span(w).last(contracted);
    std::span<const DimId> last =
        std::span(x).last(std::min(contracted, x.size()));
    if (!same(from, last)) {
      std::span<const DimId> meant =
          sizeOf(from) == sizeOf(last) ? last : behindTokens(x, sizeOf(from));
      return differ(from, last,
                    "`linear` contracts the last dimensions of its operand, "
                    "here " +
                        describe(from),
                    last.empty() ? ""
                                 : "contract what the operand has: write " +
                                       mapped(meant) + " before the `->`");
    }
    if (isExpertRows(x) && w.size() > contracted)
      warnOfSharedWeight(op, mapped(from),
                         mapped(std::span(w).first(w.size() - contracted)),
                         engine);
    Dims result(x.begin(), x.end() - long(contracted));
    result.insert(result.end(), w.begin(), w.end() - long(contracted));
    set(0, std::move(result));
    return true;
  }

  /// x [lead..., from...], w [adapters, to..., from...]. No check is needed:
  /// the compiler made the weight for x.
  bool adapterLinear() {
    const Dims &x = dims(0), &w = dims(1);
    Dims result(x.begin(), x.end() - long(contracted));
    result.insert(result.end(), w.begin() + 1, w.end() - long(contracted));
    set(0, std::move(result));
    return true;
  }

  int64_t sizeOf(std::span<const DimId> dims) const {
    int64_t size = 1;
    for (DimId dim : dims)
      size *= module[dim].size;
    return size;
  }

  /// The last dimensions of x whose product is `size`, such as the heads of a
  /// hidden state; the last `contracted` ones when there are none.
  std::span<const DimId> behindTokens(const Dims& x, int64_t size) const {
    for (size_t count = 2; count + 1 < x.size(); ++count)
      if (sizeOf(std::span(x).last(count)) == size)
        return std::span(x).last(count);
    return std::span(x).last(contracted);
  }

  /// x [lead..., to...], b [to...]; the bias was made for x, so it fits.
  bool addBias() {
    set(0, dims(0));
    return true;
  }

  /// y like x, and the mean and the deviation of each row. A weight with
  /// several dimensions has different values for the rows of one token.
  bool norm() {
    Dims x = dims(0);
    size_t width = op.operands[1] == ValueId::none
                       ? 0
                       : std::max<size_t>(1, dims(1).size());
    size_t most = x.size() - std::min<size_t>(x.size(), 2);
    std::span<const DimId> last = std::span(x).last(std::min(width, most));
    if (width > 0 && !same(last, dims(1)))
      return differ(last, dims(1),
                    "the weight of " + opText() +
                        " has the last dimensions of its operand, here " +
                        describe(last));
    set(0, x);
    x.pop_back();
    for (size_t i = 1; i < op.results.size(); ++i)
      set(i, x, ir::accumulationType(module.compute));
    return true;
  }

  bool isHeads(const Dims& dims) const {
    return dims.size() == 4 && same(std::span(dims).first(2), tokenDims());
  }

  std::span<const DimId> tokenDims() const {
    ValueId tokens = module.bindings.at("tokens");
    return module[tokens].dims;
  }

  bool rope() {
    const Dims& x = dims(0);
    if (!isHeads(x))
      return noHeads(0, "q");
    if (op.attributes.contains("rotated"))
      return rotatedPart(x, ops::RopeAttributes(op.attributes).rotated);
    if (module[x[3]].size % 2 != 0) {
      reportOddWidth(module, op, x[3], engine);
      return false;
    }
    set(0, x);
    return true;
  }

  bool rotatedPart(const Dims& x, int64_t rotated) {
    int64_t width = module[x[3]].size;
    if (rotated < 2 || rotated > width || rotated % 2 != 0) {
      mismatch("`rope` rotates pairs, and its `fraction` is " +
               std::to_string(rotated) + " of " + sized(x[3]))
          .label(module[x[3]].range, "the size is given here")
          .help("choose a `fraction` of an even number of elements");
      return false;
    }
    set(0, x);
    return true;
  }

  /// The result is like the operand, which has the dimensions of tokens.
  bool byToken() {
    const Dims& x = dims(0);
    if (x.size() < 2 || !same(std::span(x).first(2), tokenDims()))
      return differ({}, x, opText() + " takes [batch, sequence, ...]");
    set(0, x);
    return true;
  }

  bool attention() {
    const Dims& q = dims(0);
    const Dims& k = dims(1);
    for (size_t i = 0; i < 3; ++i)
      if (!isHeads(dims(i)))
        return noHeads(i, ops::infoOf(op.kind).operands[i].name);
    if (!same(k, dims(2)))
      return differ(k, dims(2),
                    "`attention` takes keys and values of one shape, here " +
                        describe(k),
                    "make both of the same dimensions: `k` with " +
                        mapped(std::span(dims(2)).subspan(2)) +
                        ", as `v` is, or `v` with " +
                        mapped(std::span(k).subspan(2)) + ", as `k` is",
                    {1, 2});
    if (!sameDim(module, q[3], k[3]))
      return differ(std::span(q).last(1), std::span(k).last(1),
                    "`attention` takes queries and keys of one width, here " +
                        describe(std::span(q).last(1)));
    if (module[q[2]].size % module[k[2]].size != 0)
      return reportHeads(module, op, q[2], k[2], engine);
    set(0, q);
    set(1, {q[0], q[2], q[1]}, ir::accumulationType(module.compute));
    return true;
  }

  /// `made` is the name of the layer that the help proposes for the operand.
  bool noHeads(size_t operand, std::string_view made) {
    const ir::Value& value = module[op.operands[operand]];
    std::string name(ops::infoOf(op.kind).operands[operand].name);
    auto builder = mismatch(opText() +
                            " takes [batch, sequence, heads, width of a head] "
                            "as `" +
                            name + "`, and not " + describe(value.dims));
    helpWithHeads(module, op.operands[operand], name, made, builder);
    return false;
  }

  // ---- experts

  bool isExpertRows(const Dims& x) const {
    return !x.empty() && dimName(x[0]) == groupsDim;
  }

  /// Whether an operand is [batch, sequence, width].
  bool isTokens(size_t operand) {
    const Dims& x = dims(operand);
    bool fits = x.size() == 3 && same(std::span(x).first(2), tokenDims());
    return fits || differ({}, x, opText() + " takes [batch, sequence, width]");
  }

  /// x [groups, places, from...], w [experts, to..., from...], or [experts,
  /// from..., to...] when stacked → [groups, places, to...].
  bool expertLinear() {
    const Dims& x = dims(0);
    std::span<const DimId> w(dims(1));
    const bool isStacked = ops::ExpertLinearAttributes(op.attributes).stacked;
    std::span<const DimId> inner = w.subspan(1);
    std::span<const DimId> from =
        isStacked ? inner.first(contracted) : inner.last(contracted);
    std::span<const DimId> to = isStacked
                                    ? inner.subspan(contracted)
                                    : inner.first(inner.size() - contracted);
    std::span<const DimId> last = std::span(x).subspan(2);
    if (!same(from, last))
      return differ(from, last,
                    "`expert_linear` contracts the last dimensions of its "
                    "rows, here " +
                        describe(from),
                    last.empty() ? ""
                                 : "contract what the rows have: write " +
                                       mapped(last) + " before the `->`");
    Dims result = {x[0], x[1]};
    result.insert(result.end(), to.begin(), to.end());
    set(0, std::move(result));
    return true;
  }

  /// y [groups, places, width] and rows [batch, sequence, choices].
  bool combine() {
    const Dims& y = dims(0);
    if (y.size() != 3)
      return differ({}, y, "`combine` takes rows of one width");
    set(0, {tokenDims()[0], tokenDims()[1], y[2]});
    return true;
  }

  /// x [b, s, groups, channels], b [b, s, groups, state]: y like x, and the
  /// states [b, groups, chunks, channels, state].
  void stateScan() {
    const Dims x = dims(0);
    int64_t chunk = ops::StateScanAttributes(op.attributes).chunk;
    int64_t chunks = (module[x[1]].size + chunk - 1) / chunk;
    set(0, x);
    set(1,
        {x[0], x[2], ir::addDim(module, mambaChunksDim, chunks), x[3],
         dims(2)[3]},
        ir::accumulationType(module.compute));
  }

  bool loss() {
    ir::DType type = ir::accumulationType(module.compute);
    if (op.kind == ir::OpKind::Nll)
      return true; // adds to a scalar that has its type
    Dims lead = dims(0);
    lead.pop_back();
    if (op.kind == ir::OpKind::SoftmaxSum)
      lead.push_back(ir::constantDim(module, 2));
    set(0, std::move(lead), type);
    return true;
  }

  ir::Module& module;
  const ir::Op& op;
  size_t contracted;
  diag::Engine& engine;
};

} // namespace

bool sameDim(const ir::Module& module, DimId left, DimId right) {
  return left == right || (module[left].name == module[right].name &&
                           module[left].size == module[right].size);
}

bool inferDims(ir::Module& module, const ir::Op& op, size_t contracted,
               diag::Engine& engine) {
  return Inference(module, op, contracted, engine).run();
}

} // namespace recipec::passes
