// Mixtures of experts in a Graph.
//
// 1. A router is a linear to the scores of the experts and a `route`, whose
//    choices stand for the routing in the model's later calls.
// 2. A dispatch lays tokens in rows of their experts, an expert's linear has a
//    weight for each, and a combine brings the rows back to their tokens.

#include "compiler/passes/CallAttributes.h"
#include "compiler/passes/GraphBuilder.h"
#include "compiler/passes/InferDims.h"
#include "compiler/recipe/Format.h"

#include <algorithm>
#include <cmath>

namespace recipec::passes {

using ir::DimId;
using ir::OpKind;
using ir::ValueId;

bool GraphBuilder::isRoutingPlace(OpKind kind, int place) {
  return place == 1 && (kind == OpKind::Dispatch || kind == OpKind::Combine);
}

void GraphBuilder::buildRouter(const recipe::Call& call) {
  ir::Op linear{};
  linear.kind = OpKind::Linear;
  linear.layer = call.layer;
  linear.range = call.range;
  if (!operands(call, linear))
    return;
  const auto& mapping = std::get<recipe::DimsMapping>(at(call, "dims").data);
  if (mapping.to.size() != 1) {
    engine.report(diag::Kind::ShapeMismatch, call.range,
                  "`router` makes a score for each expert, and its `dims` "
                  "make " +
                      listed(dimsOf(mapping.to)));
    return;
  }
  Routing routing;
  routing.experts = dimOf(mapping.to[0]);
  std::vector<DimId> dims = {routing.experts};
  for (recipe::DimId dim : mapping.from)
    dims.push_back(dimOf(dim));
  if (linear.operands.size() == 1) {
    const ir::Dim experts = module[routing.experts];
    dims[0] = ir::addDim(module, scoresDim, experts.size, experts.range);
    linear.operands.push_back(
        param(call, std::move(dims), initializer(call), decays(call, true), 1));
  } else if (!checkWeight(call, linear.operands[1], dims)) {
    return;
  }
  linear.name = names.make(call.name);
  addResult(linear, linear.name);
  if (!inferDims(module, linear, mapping.from.size(), engine) ||
      !isOfTokens(call, linear.results[0]))
    return;
  ValueId logits = linear.results[0];
  module.functions[0].ops.push_back(std::move(linear));
  route(call, logits, std::move(routing));
}

bool GraphBuilder::isOfTokens(const recipe::Call& call, ValueId logits) {
  const std::vector<DimId>& dims = module[logits].dims;
  const std::vector<DimId>& tokens = module[module.bindings.at("tokens")].dims;
  if (dims.size() == 3 &&
      std::equal(tokens.begin(), tokens.end(), dims.begin()))
    return true;
  std::vector<DimId> lead(dims.begin(), dims.end() - 1);
  engine.report(diag::Kind::ShapeMismatch, call.range,
                "`router` chooses for each token of " + listed(tokens) +
                    ", and not of " + listed(lead));
  return false;
}

/// Whether a call's weight is a tensor for each expert at Hugging Face.
static bool isByExpert(const recipe::Call& call) {
  return call.hfName.find("{expert}") != std::string::npos;
}

bool GraphBuilder::checkExternalName(const recipe::Call& call) {
  bool makesParameter = call.find("decay") != nullptr;
  if (!makesParameter || !isByExpert(call) ||
      (call.op == "expert_linear" && !std::get<bool>(at(call, "stacked").data)))
    return true;
  engine
      .report(diag::Kind::InvalidValue, call.range,
              "`" + call.hfName +
                  "` stands for a tensor of each expert, and "
                  "this `" +
                  call.op + "` makes one of all")
      .help("leave `\\{expert}` out of `hf`");
  return false;
}

void GraphBuilder::route(const recipe::Call& call, ValueId logits,
                         Routing routing) {
  const std::vector<DimId> lead = {module[logits].dims[0],
                                   module[logits].dims[1]};
  routing.choicesPerToken = std::get<int64_t>(at(call, "top_k").data);
  if (!canChoose(call, routing))
    return;
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
  op.results.resize(5, ValueId::none);
  // Every rank has all scores, those of a weight that is given, too.
  DimId scores = module[logits].dims[2];
  if (const ir::Dim experts = module[scores]; scores == routing.experts)
    scores = ir::addDim(module, scoresDim, experts.size, experts.range);
  if (std::get<bool>(at(call, "correction").data))
    op.operands[2] = correction(call, scores);
  if (extent.loss) {
    op.operands[3] = input("weights");
    op.operands[4] = input("loss_scale");
    op.results[2] = lossSum();
    countChoices(call, scores, op);
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

bool GraphBuilder::canChoose(const recipe::Call& call, const Routing& routing) {
  int64_t experts = module[routing.experts].size;
  int64_t groups = std::get<int64_t>(at(call, "groups").data);
  int64_t kept = std::get<int64_t>(at(call, "top_groups").data);
  int64_t most = 64; // groups of which a kernel keeps a list
  auto fail = [&](const char* argument, const std::string& why) {
    engine
        .report(diag::Kind::InvalidValue, at(call, argument).origin.range,
                "`" + std::string(argument) +
                    "` = " + recipe::formatValue(at(call, argument), {}) +
                    " of `router` " + why)
        .label(module[routing.experts].range, sized(routing.experts));
    return false;
  };
  if (groups < 1 || groups > most)
    return fail("groups", "is not from 1 to " + std::to_string(most));
  if (experts % groups != 0)
    return fail("groups", "does not divide " + sized(routing.experts));
  if (kept < 1 || kept > groups)
    return fail("top_groups",
                "is not from 1 to `groups` = " + std::to_string(groups));
  if (routing.choicesPerToken < 1)
    return fail("top_k", "is below 1");
  int64_t choices = experts / groups * kept;
  if (routing.choicesPerToken > choices)
    return fail("top_k", "is more than the " + std::to_string(choices) +
                             " experts that a token may choose from");
  return true;
}

ValueId GraphBuilder::correction(const recipe::Call& call, DimId scores) {
  ir::Param param;
  param.name = names.make(call.name + ".correction");
  param.init = {"zeros", 0};
  param.trainable = false;
  param.decay = false;
  param.balances = true;
  param.hfName = call.hfName + ".e_score_correction_bias";
  param.hfShape = {module[scores].size};
  // Steps are far smaller than what the compute type may tell apart.
  param.value = ir::addValue(module, {param.name,
                                      ir::ValueKind::parameter,
                                      ir::DType::f32,
                                      {scores},
                                      {},
                                      call.range});
  module.params.push_back(std::move(param));
  return module.params.back().value;
}

/// How many tokens chose each expert is for the bias, which stays what it is
/// beside an adapter.
void GraphBuilder::countChoices(const recipe::Call& call, DimId scores,
                                ir::Op& op) {
  if (op.operands[2] != ValueId::none && recipe.at("adapter").isNone()) {
    double rate = real(call, "correction_rate");
    if (!(rate >= 0))
      engine.report(diag::Kind::InvalidValue,
                    at(call, "correction_rate").origin.range,
                    "`correction_rate` = " +
                        recipe::formatValue(at(call, "correction_rate"), {}) +
                        " is below 0");
    op.attributes["correction_rate"] = rate;
    op.results[3] = sum(call.name + ".load", {scores});
  }
  if (op.attributes.contains("limit"))
    op.results[4] = boundSum("dropped", {ir::constantDim(module, 2)});
}

bool GraphBuilder::dispatch(const recipe::Call& call, ir::Op& op) {
  bool isWeighted = std::get<bool>(at(call, "weighted").data);
  op.operands.push_back(isWeighted ? routings.at(op.operands[1]).gates
                                   : ValueId::none);
  return true;
}

int64_t GraphBuilder::ranks(std::string_view degree) const {
  return ir::sizeOf(module, ir::axesOf(module, degree));
}

void GraphBuilder::layRows(const recipe::Call& call, ir::Op& op) {
  ValueId choices = op.operands[1];
  Routing& routing = routings.at(choices);
  const std::vector<DimId>& x = module[op.operands[0]].dims;
  // Every rank of a stage has tokens of its own. Where its parts are not equal
  // an error follows.
  int64_t parts = ranks("dp") * ranks("cp") * ranks("tp");
  int64_t samples = module[x[0]].size / ranks("dp");
  int64_t tokens = module[x[1]].size / (ranks("cp") * ranks("tp"));
  int64_t groups = ranks("ep");
  int64_t members = module[routing.experts].size / groups;
  int64_t block = blockRows(samples, tokens, routing.choicesPerToken,
                            routing.limit, members);
  DimId group = ir::addDim(module, groupsDim, groups);
  DimId width = x[2];
  module[op.results[0]].dims = {
      group, ir::addDim(module, placesDim, parts * block, call.range), width};
  routing.rows = op.results[1];
  module[routing.rows].dims = module[choices].dims;
  module[routing.rows].type = ir::DType::i32;
  routing.counts = op.results[2];
  module[routing.counts].dims = {group, ir::addDim(module, blocksDim, parts),
                                 ir::addDim(module, membersDim, members)};
  module[routing.counts].type = ir::DType::i32;
  double rows = double(block) * double(groups);
  double used =
      double(samples) * double(tokens) * double(routing.choicesPerToken);
  routing.used = std::min(1.0, used / rows);
  rowsOf[op.results[0]] = choices;
}

void GraphBuilder::packRows(const recipe::Call& call, const ir::Op& dispatch) {
  const recipe::Value& bound = recipe.at("memory.expert_rows");
  Routing& routing = routings.at(dispatch.operands[1]);
  const std::vector<DimId> sent = module[dispatch.results[0]].dims;
  const std::vector<DimId> counts = module[routing.counts].dims;
  // What the ranks of `ep` and `etp` send comes together on a rank.
  int64_t holders = std::max<int64_t>(1, module[counts[1]].size /
                                             (ranks("ep") * ranks("etp")));
  int64_t whole = module[sent[1]].size;
  double even = routing.used * double(whole);
  double rows = bound.isNone()
                    ? double(whole)
                    : std::min(double(whole), std::ceil(real(bound) * even));
  // Every rank has as many.
  int64_t places = int64_t(std::ceil(rows / double(holders))) * holders;
  if (places >= whole)
    return;
  ir::Op op{};
  op.kind = OpKind::PackRows;
  op.layer = call.layer;
  op.range = call.range;
  op.name = names.make(dispatch.name + ".packed");
  op.operands = {dispatch.results[0], routing.counts};
  addResult(op, op.name);
  addResult(op, names.make(dispatch.name + ".packed_counts"));
  op.results.push_back(boundSum("overflow", {ir::constantDim(module, 2)}));
  module[op.results[0]].dims = {
      sent[0], ir::addDim(module, packedDim, places, bound.origin.range),
      sent[2]};
  module[op.results[1]].dims = {
      counts[0], ir::addDim(module, blocksDim, holders), counts[2]};
  module[op.results[1]].type = ir::DType::i32;
  routing.sent = routing.counts;
  routing.places = sent[1];
  routing.counts = op.results[1];
  routing.used = std::min(1.0, even / double(places));
  followRows(op);
  tensorOf(call.result) = op.results[0];
  module.functions[0].ops.push_back(std::move(op));
}

void GraphBuilder::unpackRows(const Routing& routing, ir::Op& combine) {
  if (routing.sent == ValueId::none)
    return;
  ValueId packed = combine.operands[0];
  ir::Op op{};
  op.kind = OpKind::UnpackRows;
  op.layer = combine.layer;
  op.range = combine.range;
  op.name = names.make(module[packed].name + ".unpacked");
  op.operands = {packed, routing.sent};
  addResult(op, op.name);
  std::vector<DimId> dims = module[packed].dims;
  dims[1] = routing.places;
  module[op.results[0]].dims = std::move(dims);
  combine.operands[0] = op.results[0];
  module.functions[0].ops.push_back(std::move(op));
}

void GraphBuilder::followRows(const ir::Op& op) {
  if (op.kind == OpKind::Combine)
    return;
  auto rows = rowsOf.find(op.operands[0]);
  if (rows != rowsOf.end())
    rowsOf.emplace(op.results[0], rows->second);
}

Routing* GraphBuilder::routingOfRows(const recipe::Call& call,
                                     const ir::Op& op) {
  auto rows = rowsOf.find(op.operands[0]);
  if (rows != rowsOf.end())
    return &routings.at(rows->second);
  engine
      .report(diag::Kind::ShapeMismatch, call.range,
              "`" + call.op + "` takes rows of experts, and `" +
                  module[op.operands[0]].name + "` are none")
      .note("made here", module[op.operands[0]].range)
      .help("call `dispatch` first");
  return nullptr;
}

bool GraphBuilder::expertLinear(const recipe::Call& call, ir::Op& op,
                                size_t& contracted) {
  const Routing* routing = routingOfRows(call, op);
  if (!routing)
    return false;
  const auto& mapping = std::get<recipe::DimsMapping>(at(call, "dims").data);
  contracted = mapping.from.size();
  DimId experts =
      dimOf(std::get<recipe::DimValue>(at(call, "experts").data).dim);
  if (!sameDim(module, experts, routing->experts)) {
    engine
        .report(diag::Kind::ShapeMismatch, call.range,
                "the rows are those of " + listed({routing->experts}) +
                    ", and the weights those of " + listed({experts}))
        .note("the rows are made here", module[op.operands[0]].range);
    return false;
  }
  bool isStacked = std::get<bool>(at(call, "stacked").data);
  op.attributes["stacked"] = isStacked;
  op.attributes["used"] = routing->used;
  std::vector<DimId> outer = dimsOf(isStacked ? mapping.from : mapping.to);
  std::vector<DimId> inner = dimsOf(isStacked ? mapping.to : mapping.from);
  std::vector<int64_t> hfShape = groupedShape(outer, outer.size());
  hfShape.back() = groupedShape(inner, inner.size())[0];
  std::vector<DimId> dims = {experts};
  dims.insert(dims.end(), outer.begin(), outer.end());
  dims.insert(dims.end(), inner.begin(), inner.end());
  op.operands.push_back(
      param(call, std::move(dims), initializer(call), decays(call, true), 0));
  op.operands.push_back(routing->counts);
  ir::Param& weight = module.params.back();
  weight.hfShape = std::move(hfShape);
  if (!isByExpert(call))
    weight.hfShape.insert(weight.hfShape.begin(), module[experts].size);
  if (isStacked)
    weight.hfName = call.hfName; // a tensor of its own, not of a module
  return true;
}

void GraphBuilder::takeRows(ir::Op& combine) {
  ValueId gates = combine.operands[2];
  if (gates == ValueId::none || !extent.loss || ranks("ep") == 1) {
    combine.results.push_back(ValueId::none);
    return;
  }
  addResult(combine, names.make(combine.name + ".taken"));
  std::vector<DimId> dims = module[gates].dims;
  dims.push_back(module[combine.operands[0]].dims[2]);
  module[combine.results[1]].dims = std::move(dims);
}

bool GraphBuilder::combine(const recipe::Call& call, ir::Op& op) {
  const Routing& routing = routings.at(op.operands[1]);
  if (routing.rows == ValueId::none) {
    engine
        .report(diag::Kind::ShapeMismatch, call.range,
                "`combine` takes back what a `dispatch` sent, and the routing "
                "`" +
                    module[routing.choices].name + "` has none before it")
        .help("call `dispatch` with the same routing first");
    return false;
  }
  const Routing* sent = routingOfRows(call, op);
  if (!sent)
    return false;
  if (sent != &routing) {
    engine.report(diag::Kind::ShapeMismatch, call.range,
                  "`combine` takes back what was sent by the routing `" +
                      module[routing.choices].name + "`, and `" +
                      module[op.operands[0]].name + "` was sent by `" +
                      module[sent->choices].name + "`");
    return false;
  }
  unpackRows(routing, op);
  bool isWeighted = std::get<bool>(at(call, "weighted").data);
  op.operands = {op.operands[0], routing.rows,
                 isWeighted ? routing.gates : ValueId::none};
  return true;
}

int64_t blockRows(int64_t samples, int64_t tokens, int64_t choices,
                  int64_t limit, int64_t members) {
  // In double, where nothing overflows; what is too large is reported later.
  double ofTokens =
      double(samples) * double(tokens) * double(std::min(choices, members));
  double ofExperts =
      double(samples) * double(members) * double(std::min(limit, tokens));
  return std::max<int64_t>(
      1, int64_t(std::min({ofTokens, ofExperts, double(0x1p56)})));
}

} // namespace recipec::passes
