// The Mamba-2 mixer (Dao and Gu 2024, section 7) in a Graph.
//
// 1. Check that the dimensions fit: each group has whole heads.
// 2. Five linears make z, x, B, C and dt, each [groups, ...]. Hugging Face
//    stores their weights as rows of one matrix; here each is split by groups.
// 3. x, B and C go through a causal convolution with a bias and a silu. Hugging
//    Face stores these weights as rows of one tensor, too.
// 4. A scan over the sequence makes y, which is gated by z and normalised by
//    groups. A linear projects it back.

#include "compiler/passes/build/CallAttributes.h"
#include "compiler/passes/build/GraphBuilder.h"
#include "compiler/passes/build/InferDims.h"
#include "compiler/passes/build/StateSpaceDims.h"
#include "runtime/ops/OpKind.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace recipec::passes {

using ir::DimId;
using ir::OpKind;
using ir::ValueId;

namespace {

/// In the backward pass a thread keeps the states of a chunk, and a convolution
/// the taps of a channel, outside the plan's buffers.
constexpr int64_t longestChunk = 1024, longestTaps = 64;

} // namespace

/// One call of `mamba2`.
class GraphBuilder::StateSpace {
public:
  StateSpace(GraphBuilder& graph, const recipe::Call& call, ValueId x)
      : graph(graph), call(call), x(x),
        mapping(std::get<recipe::DimsMapping>(at(call, "dims").data)),
        hidden(graph.dimsOf(mapping.from)) {}

  /// False after reporting a mismatch.
  bool check() {
    return checkOperand() && checkHeads() &&
           checkCount("kernel", longestTaps) &&
           checkCount("chunk", longestChunk);
  }

  ValueId build();

private:
  /// A range of rows of a Hugging Face tensor.
  struct Rows {
    const char* tensor; // `in_proj.weight`
    int64_t first;
    int64_t of;
  };
  /// The initializer of a parameter, and whether it decays by default.
  struct Start {
    ir::Initializer init;
    bool decays = false;
  };

  // ---- checks

  bool checkOperand();
  bool checkHeads();
  bool checkCount(const char* argument, int64_t most);
  const recipe::Dim& dimNamed(recipe::DimId id) const {
    return graph.recipe.model.dims[size_t(id)];
  }
  std::string sized(recipe::DimId id) const {
    return "`" + dimNamed(id).name + "` = " + std::to_string(dimNamed(id).size);
  }

  // ---- dimensions

  void makeDims();
  DimId addDim(std::string_view name, int64_t size, recipe::DimId origin);
  int64_t size(DimId dim) const { return graph.module[dim].size; }
  int64_t count(const char* argument) const {
    return std::get<int64_t>(at(call, argument).data);
  }

  // ---- parameters

  std::string name(const std::string& part) const {
    return call.name + "." + part;
  }
  /// Makes a parameter [groups, ...] that Hugging Face calls `part` of the
  /// call, too.
  ValueId param(const std::string& part, std::vector<DimId> dims, Start start,
                std::vector<int64_t> hfShape);
  /// Makes a parameter that Hugging Face stores as rows of a tensor.
  ValueId param(const std::string& part, std::vector<DimId> dims, Start start,
                std::vector<int64_t> hfShape, Rows rows);

  // ---- ops

  ValueId emit(OpKind kind, std::string name, std::vector<ValueId> operands,
               size_t contracted = 0);
  ValueId project(const std::string& part, DimId width, int64_t first);
  ValueId convolve(const std::string& part, ValueId in, DimId width,
                   int64_t first);
  ValueId scan(ValueId u, ValueId b, ValueId c, ValueId t);
  ValueId normalize(ValueId y);
  ValueId projectBack(ValueId y);

  GraphBuilder& graph;
  const recipe::Call& call;
  ValueId x;
  const recipe::DimsMapping& mapping;
  std::vector<DimId> hidden;
  DimId groups = DimId::none;
  DimId heads = DimId::none;    // of a group
  DimId channels = DimId::none; // of a group
  DimId state = DimId::none;
  DimId kernel = DimId::none;
  int64_t inner = 0;  // channels of all groups
  int64_t shared = 0; // elements of B of all groups; C has the same number
};

// ---- checks

bool GraphBuilder::StateSpace::checkOperand() {
  ir::Module& module = graph.module;
  std::vector<DimId> due = module[module.bindings.at("tokens")].dims;
  due.insert(due.end(), hidden.begin(), hidden.end());
  const std::vector<DimId>& found = module[x].dims;
  bool fits =
      std::equal(due.begin(), due.end(), found.begin(), found.end(),
                 [&](DimId l, DimId r) { return sameDim(module, l, r); });
  if (fits)
    return true;
  diag::Builder report = graph.engine.report(
      diag::Kind::ShapeMismatch, call.range,
      "`mamba2` takes " + graph.listed(due) + " as its `dims` say, and not " +
          graph.listed(found));
  report.note("the operand is made here", module[x].range)
      .help("write the operand's last dimensions before `->` of `dims`, or "
            "make it " +
            graph.listed(due));
  return false;
}

bool GraphBuilder::StateSpace::checkHeads() {
  if (mapping.to.size() != 2) {
    graph.engine
        .report(diag::Kind::ShapeMismatch, call.range,
                "`mamba2` makes heads of a width, and its `dims` make " +
                    graph.listed(graph.dimsOf(mapping.to)))
        .help("write two dimensions behind `->`, as `[heads, head_dim]`");
    return false;
  }
  recipe::DimId all = mapping.to[0],
                of = std::get<recipe::DimValue>(at(call, "groups").data).dim;
  if (dimNamed(all).size % dimNamed(of).size == 0)
    return true;
  graph.engine
      .report(diag::Kind::ShapeMismatch, call.range,
              sized(of) + " does not divide " + sized(all))
      .label("each group of heads shares B and C")
      .label(dimNamed(all).origin.range, sized(all))
      .label(dimNamed(of).origin.range, sized(of))
      .help("choose a number of groups that divides " +
            std::to_string(dimNamed(all).size));
  return false;
}

bool GraphBuilder::StateSpace::checkCount(const char* argument, int64_t most) {
  if (count(argument) >= 1 && count(argument) <= most)
    return true;
  graph.engine
      .report(diag::Kind::InvalidValue, at(call, argument).origin.range,
              "`" + std::string(argument) +
                  "` = " + std::to_string(count(argument)) +
                  " of `mamba2` is not from 1 to " + std::to_string(most))
      .help("write a number from 1 to " + std::to_string(most));
  return false;
}

// ---- dimensions

DimId GraphBuilder::StateSpace::addDim(std::string_view name, int64_t size,
                                       recipe::DimId origin) {
  return ir::addDim(graph.module, name, size, dimNamed(origin).origin.range);
}

void GraphBuilder::StateSpace::makeDims() {
  recipe::DimId all = mapping.to[0], width = mapping.to[1],
                of = std::get<recipe::DimValue>(at(call, "groups").data).dim,
                kept = std::get<recipe::DimValue>(at(call, "state").data).dim;
  int64_t ofGroup = dimNamed(all).size / dimNamed(of).size;
  groups = addDim(mambaGroupsDim, dimNamed(of).size, of);
  heads = addDim(mambaHeadsDim, ofGroup, all);
  channels = addDim(mambaChannelsDim, ofGroup * dimNamed(width).size, all);
  state = addDim(mambaStateDim, dimNamed(kept).size, kept);
  kernel = ir::addDim(graph.module, mambaKernelDim, count("kernel"),
                      at(call, "kernel").origin.range);
  inner = size(groups) * size(channels);
  shared = size(groups) * size(state);
}

// ---- parameters

ValueId GraphBuilder::StateSpace::param(const std::string& part,
                                        std::vector<DimId> dims, Start start,
                                        std::vector<int64_t> hfShape) {
  return graph.namedParam(call, part, std::move(dims), std::move(start.init),
                          decays(call, start.decays), std::move(hfShape));
}

ValueId GraphBuilder::StateSpace::param(const std::string& part,
                                        std::vector<DimId> dims, Start start,
                                        std::vector<int64_t> hfShape,
                                        Rows rows) {
  ValueId value =
      param(part, std::move(dims), std::move(start), std::move(hfShape));
  ir::Param& made = graph.module.params.back();
  made.hfName = call.hfName + "." + rows.tensor;
  made.hfFirst = rows.first;
  made.hfRows = rows.of;
  return value;
}

// ---- ops

/// Appends an op and returns its first result.
ValueId GraphBuilder::StateSpace::emit(OpKind kind, std::string name,
                                       std::vector<ValueId> operands,
                                       size_t contracted) {
  ir::Op op{};
  op.kind = kind;
  op.layer = call.layer;
  op.range = call.range;
  op.operands = std::move(operands);
  op.name = graph.names.make(name);
  if (kind == OpKind::RmsNorm)
    op.attributes["eps"] = real(call, "eps");
  if (kind == OpKind::StateScan)
    op.attributes["chunk"] = count("chunk");
  graph.results(op);
  bool fits = inferDims(graph.module, op, contracted, graph.engine);
  assert(fits && "the parts of a mixer fit one another");
  (void)fits;
  graph.module.functions[0].ops.push_back(op);
  return op.results[0];
}

/// A linear [hidden] -> [groups, width] with the projection's rows from `first`
/// on.
ValueId GraphBuilder::StateSpace::project(const std::string& part, DimId width,
                                          int64_t first) {
  std::vector<DimId> dims = {groups, width};
  dims.insert(dims.end(), hidden.begin(), hidden.end());
  int64_t rows = 2 * (inner + shared) + size(groups) * size(heads);
  std::vector<int64_t> shape = graph.groupedShape(dims, 2);
  ValueId weight = param("in_proj." + part + ".weight", std::move(dims),
                         {initializer(call), true}, std::move(shape),
                         {"in_proj.weight", first, rows});
  return emit(OpKind::Linear, name("in_proj." + part), {x, weight},
              hidden.size());
}

/// Weights and biases use the initialisation of PyTorch's Conv1d.
ValueId GraphBuilder::StateSpace::convolve(const std::string& part, ValueId in,
                                           DimId width, int64_t first) {
  Start start{{"uniform", 1 / std::sqrt(double(size(kernel)))}};
  int64_t rows = size(groups) * size(width), of = inner + 2 * shared;
  std::string scope = "conv1d." + part;
  ValueId weight = param(scope + ".weight", {groups, width, kernel}, start,
                         {rows, 1, size(kernel)}, {"conv1d.weight", first, of});
  ValueId bias = param(scope + ".bias", {groups, width}, start, {rows},
                       {"conv1d.bias", first, of});
  ValueId mixed = emit(OpKind::CausalConv, name(scope),
                       {in, weight, graph.input("segments")});
  mixed = emit(OpKind::AddBias, name(scope + ".biased"), {mixed, bias});
  return emit(OpKind::Silu, name(scope + ".silu"), {mixed});
}

/// A, D and the step biases use the initialisation of Dao and Gu's code.
ValueId GraphBuilder::StateSpace::scan(ValueId u, ValueId b, ValueId c,
                                       ValueId t) {
  auto ofHeads = [&](const char* part, const char* init) {
    return param(part, {groups, heads}, {{init, 0.0}},
                 {size(groups) * size(heads)});
  };
  ValueId rates = ofHeads("A_log", "decay_rates"), past = ofHeads("D", "ones"),
          steps = ofHeads("dt_bias", "time_steps");
  return emit(OpKind::StateScan, name("scan"),
              {u, t, b, c, rates, past, steps, graph.input("segments")});
}

ValueId GraphBuilder::StateSpace::normalize(ValueId y) {
  ValueId weight =
      param("norm.weight", {groups, channels}, {{"ones", 0.0}}, {inner});
  return emit(OpKind::RmsNorm, name("norm"), {y, weight});
}

ValueId GraphBuilder::StateSpace::projectBack(ValueId y) {
  std::vector<DimId> dims = hidden;
  dims.insert(dims.end(), {groups, channels});
  std::vector<int64_t> shape = graph.groupedShape(dims, hidden.size());
  ValueId weight = param("out_proj.weight", std::move(dims),
                         {initializer(call), true}, std::move(shape));
  return emit(OpKind::Linear, name("out_proj"), {y, weight}, 2);
}

ValueId GraphBuilder::StateSpace::build() {
  makeDims();
  ValueId z = project("z", channels, 0);
  ValueId u = project("x", channels, inner);
  ValueId b = project("b", state, 2 * inner);
  ValueId c = project("c", state, 2 * inner + shared);
  ValueId t = project("dt", heads, 2 * (inner + shared));
  u = convolve("x", u, channels, 0);
  b = convolve("b", b, state, inner);
  c = convolve("c", c, state, inner + shared);
  ValueId y = scan(u, b, c, t);
  y = emit(OpKind::Swiglu, name("gated"), {z, y});
  return projectBack(normalize(y));
}

void GraphBuilder::buildStateSpace(const recipe::Call& call) {
  ir::Op reader{};
  reader.kind = OpKind::Linear;
  if (!operands(call, reader))
    return;
  StateSpace mixer(*this, call, reader.operands[0]);
  if (mixer.check())
    tensorOf(call.result) = mixer.build();
}

} // namespace recipec::passes
