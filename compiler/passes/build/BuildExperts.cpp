// Mixtures of experts in a Graph.
//
// 1. A router is a linear to the expert scores and a `route`. Its choices
//    represent the routing in the model's later calls.
// 2. A dispatch copies tokens to rows of their experts, an expert linear has
//    one weight per expert, and a combine brings the rows back to their tokens.
// 3. When a rank has capacity for fewer rows than it may receive, rows are
//    packed after the dispatch and unpacked before the combine. With a second
//    pass, the remaining rows are packed as well, the ops between dispatch and
//    combine are repeated for them, and the results of both passes are added.

#include "compiler/passes/build/CallAttributes.h"
#include "compiler/passes/build/GraphBuilder.h"
#include "compiler/passes/build/InferDims.h"
#include "compiler/recipe/Format.h"
#include "runtime/ops/OpKind.h"

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
    engine
        .report(diag::Kind::ShapeMismatch, call.range,
                "`router` makes a score for each expert, and its `dims` "
                "make " +
                    listed(dimsOf(mapping.to)))
        .help("write the dimension of the experts alone behind `->`, as in "
              "`hidden -> experts`");
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
  engine
      .report(diag::Kind::ShapeMismatch, call.range,
              "`router` chooses for each token of " + listed(tokens) +
                  ", and not of " + listed(lead))
      .help("give it the tensor of the tokens, before `dispatch` or another op "
            "takes it apart");
  return false;
}

/// Whether a call's weight is one tensor per expert at Hugging Face.
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
  // Inference drops no tokens: a batch holds other sequences than in training.
  routing.hasSecondPass =
      std::get<std::string>(at(call, "overflow").data) == "second_pass";
  routing.passLimit = !extent.loss ? sequence
                                   : expertLimit(at(call, "capacity"), sequence,
                                                 routing.choicesPerToken,
                                                 module[routing.experts].size);
  routing.limit = routing.hasSecondPass
                      ? std::min(sequence, 2 * routing.passLimit)
                      : routing.passLimit;
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
  // The scores are replicated, even if the call gives a weight whose `experts`
  // dimension is split: they have a dimension of their own.
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
  int64_t most = 64; // a kernel keeps a list of the groups
  auto fail = [&](const char* argument, const std::string& why,
                  const std::string& help) {
    engine
        .report(diag::Kind::InvalidValue, at(call, argument).origin.range,
                "`" + std::string(argument) +
                    "` = " + recipe::formatValue(at(call, argument), {}) +
                    " of `router` " + why)
        .label(module[routing.experts].range, sized(routing.experts))
        .help(help);
    return false;
  };
  auto upTo = [](int64_t number) {
    return "write a number from 1 to " + std::to_string(number);
  };
  if (groups < 1 || groups > most)
    return fail("groups", "is not from 1 to " + std::to_string(most),
                upTo(most) + " that divides the experts");
  if (experts % groups != 0)
    return fail("groups", "does not divide " + sized(routing.experts),
                "write a divisor of " + std::to_string(experts));
  if (kept < 1 || kept > groups)
    return fail("top_groups",
                "is not from 1 to `groups` = " + std::to_string(groups),
                upTo(groups));
  int64_t choices = experts / groups * kept;
  if (routing.choicesPerToken < 1)
    return fail("top_k", "is below 1", upTo(choices));
  if (routing.choicesPerToken > choices)
    return fail("top_k",
                "is more than the " + std::to_string(choices) +
                    " experts that a token may choose from",
                upTo(choices));
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
  // Update steps are too small for the precision of the compute type.
  param.value = ir::addValue(module, {param.name,
                                      ir::ValueKind::parameter,
                                      ir::DType::f32,
                                      {scores},
                                      {},
                                      call.range});
  module.params.push_back(std::move(param));
  return module.params.back().value;
}

/// The bias needs the number of tokens per expert. An adapter leaves the bias
/// unchanged.
void GraphBuilder::countChoices(const recipe::Call& call, DimId scores,
                                ir::Op& op) {
  if (op.operands[2] != ValueId::none && recipe.at("adapter").isNone()) {
    double rate = real(call, "correction_rate");
    if (!(rate >= 0))
      engine
          .report(diag::Kind::InvalidValue,
                  at(call, "correction_rate").origin.range,
                  "`correction_rate` = " +
                      recipe::formatValue(at(call, "correction_rate"), {}) +
                      " is below 0")
          .help("write a number from 0 on, such as `1e-3`");
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
  int64_t parts = tokenParts();
  int64_t block = sentRows(routing, x, routing.limit);
  int64_t groups = ranks("ep");
  int64_t members = module[routing.experts].size / groups;
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
  double used = double(module[x[0]].size / ranks("dp")) *
                double(module[x[1]].size / (ranks("cp") * ranks("tp"))) *
                double(routing.choicesPerToken);
  routing.used = std::min(1.0, used / rows);
  rowsOf[op.results[0]] = choices;
}

int64_t GraphBuilder::tokenParts() const {
  // Every rank of a stage has its own tokens.
  return ranks("dp") * ranks("cp") * ranks("tp");
}

int64_t GraphBuilder::sentRows(const Routing& routing,
                               const std::vector<DimId>& tokens,
                               int64_t limit) const {
  // An uneven split is reported as an error later.
  return blockRows(module[tokens[0]].size / ranks("dp"),
                   module[tokens[1]].size / (ranks("cp") * ranks("tp")),
                   routing.choicesPerToken, limit,
                   module[routing.experts].size / ranks("ep"));
}

int64_t GraphBuilder::holders(const Routing& routing) const {
  ValueId sent = routing.sent == ValueId::none ? routing.counts : routing.sent;
  int64_t blocks = module[module[sent].dims[1]].size;
  return std::max<int64_t>(1, blocks / (ranks("ep") * ranks("etp")));
}

int64_t GraphBuilder::packedRows(const Routing& routing,
                                 const ir::Op& dispatch) const {
  const recipe::Value& bound = recipe.at("memory.expert_rows");
  int64_t whole = module[module[dispatch.results[0]].dims[1]].size;
  int64_t ofPass =
      sentRows(routing, module[dispatch.operands[0]].dims, routing.passLimit);
  double rows = double(std::min(whole, tokenParts() * ofPass));
  if (!bound.isNone() && extent.loss) // inference drops no tokens
    rows =
        std::min(rows, std::ceil(real(bound) * routing.used * double(whole)));
  double each = double(holders(routing));
  return int64_t(std::ceil(rows / each) * each);
}

void GraphBuilder::packRows(const recipe::Call& call, const ir::Op& dispatch) {
  Routing& routing = routings.at(dispatch.operands[1]);
  const ir::Dim sent = module[module[dispatch.results[0]].dims[1]];
  int64_t places = packedRows(routing, dispatch);
  if (places >= sent.size)
    return;
  SourceRange range = recipe.at("memory.expert_rows").origin.range;
  double even = routing.used * double(sent.size);
  routing.used = std::min(1.0, even / double(places));
  routing.sent = routing.counts;
  routing.places = module[dispatch.results[0]].dims[1];
  routing.packed = ir::addDim(module, packedDim, places, range);
  const ir::Op first =
      packPass(dispatch, routing, routing.packed,
               routing.hasSecondPass ? "second_pass" : "overflow");
  routing.counts = first.results[1];
  followRows(first);
  tensorOf(call.result) = first.results[0];
  if (!routing.hasSecondPass)
    return;
  int64_t left = std::min(places, sent.size - places);
  routing.usedAgain =
      std::clamp((even - double(places)) / double(left), 0.0, 1.0);
  routing.secondRows = ir::addDim(module, secondPassDim, left, range);
  const ir::Op second =
      packPass(dispatch, routing, routing.secondRows, "overflow");
  for (size_t result : {0, 1})
    routing.secondPass[first.results[result]] = second.results[result];
}

void GraphBuilder::tellPass(const Routing& routing, DimId places,
                            ir::Op& op) const {
  if (places == routing.secondRows)
    op.attributes["begin"] = module[routing.packed].size / holders(routing);
}

ir::Op GraphBuilder::packPass(const ir::Op& dispatch, const Routing& routing,
                              DimId places, const char* beyond) {
  const std::vector<DimId> sent = module[dispatch.results[0]].dims;
  const std::vector<DimId> counts = module[routing.sent].dims;
  std::string name =
      dispatch.name + (places == routing.packed ? ".packed" : ".second_packed");
  ir::Op op{};
  op.kind = OpKind::PackRows;
  op.layer = dispatch.layer;
  op.range = dispatch.range;
  op.name = names.make(name);
  tellPass(routing, places, op);
  op.operands = {dispatch.results[0], routing.sent};
  addResult(op, op.name);
  addResult(op, names.make(name + "_counts"));
  op.results.push_back(boundSum(beyond, {ir::constantDim(module, 2)}));
  module[op.results[0]].dims = {sent[0], places, sent[2]};
  module[op.results[1]].dims = {
      counts[0], ir::addDim(module, blocksDim, holders(routing)), counts[2]};
  module[op.results[1]].type = ir::DType::i32;
  module.functions[0].ops.push_back(op);
  return op;
}

void GraphBuilder::unpackRows(Routing& routing, ir::Op& combine) {
  if (routing.sent == ValueId::none)
    return;
  ValueId rows = combine.operands[0];
  combine.operands[0] = unpackPass(routing, combine, rows);
  if (routing.secondPass.empty())
    return;
  repeatForSecondPass(routing);
  ir::Op sum{};
  sum.kind = OpKind::Add;
  sum.layer = combine.layer;
  sum.range = combine.range;
  sum.name = names.make(module[rows].name + ".both_passes");
  sum.operands = {
      combine.operands[0],
      unpackPass(routing, combine, routing.secondPass.at(rows)),
  };
  addResult(sum, sum.name);
  module[sum.results[0]].dims = module[sum.operands[0]].dims;
  combine.operands[0] = sum.results[0];
  module.functions[0].ops.push_back(std::move(sum));
}

ValueId GraphBuilder::unpackPass(const Routing& routing, const ir::Op& combine,
                                 ValueId packed) {
  std::vector<DimId> dims = module[packed].dims;
  ir::Op op{};
  op.kind = OpKind::UnpackRows;
  op.layer = combine.layer;
  op.range = combine.range;
  op.name = names.make(module[packed].name + ".unpacked");
  tellPass(routing, dims[1], op);
  op.operands = {packed, routing.sent};
  addResult(op, op.name);
  dims[1] = routing.places;
  module[op.results[0]].dims = std::move(dims);
  module.functions[0].ops.push_back(op);
  return op.results[0];
}

void GraphBuilder::repeatForSecondPass(Routing& routing) {
  const std::vector<ir::Op> ops = module.functions[0].ops;
  for (const ir::Op& first : ops) {
    const auto rows = rowsOf.find(first.results[0]);
    if (rows == rowsOf.end() || rows->second != routing.choices ||
        !routing.secondPass.contains(first.operands[0]) ||
        routing.secondPass.contains(first.results[0]))
      continue;
    ir::Op op = first;
    op.name = names.make(first.name + ".second");
    for (ValueId& operand : op.operands)
      if (auto made = routing.secondPass.find(operand);
          made != routing.secondPass.end())
        operand = made->second;
    for (size_t i = 0; i < op.results.size(); ++i)
      if (op.results[i] != ValueId::none)
        op.results[i] = repeatResult(
            routing, op.results[i],
            i == 0 ? op.name
                   : names.make(module[op.results[i]].name + ".second"));
    if (op.attributes.contains("used"))
      op.attributes["used"] = routing.usedAgain;
    module.functions[0].ops.push_back(std::move(op));
  }
}

ValueId GraphBuilder::repeatResult(Routing& routing, ValueId result,
                                   std::string name) {
  ir::Value value = module[result];
  value.name = std::move(name);
  std::ranges::replace(value.dims, routing.packed, routing.secondRows);
  return routing.secondPass[result] = ir::addValue(module, std::move(value));
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
        .note("the rows are made here", module[op.operands[0]].range)
        .help("name one dimension of experts in the `router` and in this `" +
              call.op + "`");
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

bool GraphBuilder::combine(const recipe::Call& call, ir::Op& op) {
  Routing& routing = routings.at(op.operands[1]);
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
    engine
        .report(diag::Kind::ShapeMismatch, call.range,
                "`combine` takes back what was sent by the routing `" +
                    module[routing.choices].name + "`, and `" +
                    module[op.operands[0]].name + "` was sent by `" +
                    module[sent->choices].name + "`")
        .help("give `combine` the routing that its rows were dispatched with");
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
  // Computes in double, which does not overflow. Sizes that are too large are
  // reported later.
  double ofTokens =
      double(samples) * double(tokens) * double(std::min(choices, members));
  double ofExperts =
      double(samples) * double(members) * double(std::min(limit, tokens));
  return std::max<int64_t>(
      1, int64_t(std::min({ofTokens, ofExperts, double(0x1p56)})));
}

} // namespace recipec::passes
