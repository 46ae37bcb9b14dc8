// Makes `step_N` from `forward` for each width of N tokens.
//
// 1. Copy the ops. Each width has its own copy of all values except parameters,
//    with N tokens for `sequence`.
// 2. Turn `attention` into `attention_paged`, which writes keys and values to
//    the layer's pages. Turn `causal_conv` and `state_scan` into their step
//    ops, which keep the last inputs and the state of each sequence.
// 3. Leave out `dropout`: its readers read its operand.
// 4. `route` recognises padding by the positions, because a step has no
//    segments.
// 5. Gather the rows whose logits are wanted before the ops that compute each
//    token independently (TokenWiseTail.h): the last norm and the matmul to the
//    vocabulary.
//
// The sampling of a token for each row, at the end of `forward`, is a part of
// the step.

#include "compiler/passes/inference/Serve.h"

#include "compiler/passes/ValueNames.h"
#include "compiler/passes/build/ExpertRouting.h"
#include "compiler/passes/inference/TokenWiseTail.h"
#include "runtime/ops/AttentionOps.h"
#include "runtime/ops/OpKind.h"

#include <algorithm>
#include <cassert>
#include <unordered_map>
#include <utility>

namespace recipec::passes {
namespace {

using ir::DimId;
using ir::OpKind;
using ir::ValueId;

class ServePass {
public:
  ServePass(ir::Module& program, const ServingLimits& limits,
            diag::Engine& engine)
      : program(program), limits(limits), engine(engine), names(program) {}

  void run();

private:
  bool isCausal();
  bool canTakeBack();
  void takeForward();
  void addStep(int64_t width);
  ValueId input(const char* role, DimId count, ValueId like);

  void copy(const ir::Op& op, ir::Function& step);
  ir::Op copied(const ir::Op& op);
  void mix(const ir::Op& op, ir::Op& made);
  void takeRows(ir::Function& step, int layer);
  void bindResults();
  ValueId copyOf(ValueId value);
  ValueId addCopy(ValueId value);

  ValueId kept(const ir::Op& op, const char* suffix, ir::DType type,
               std::vector<DimId> dims, ValueId like);
  ValueId pagesLike(const ir::Op& op, const char* suffix, ValueId rows);
  ValueId scalesOfPages(const ir::Op& op, const char* suffix, ValueId pages);
  ValueId lastInputs(const ir::Op& conv);
  ValueId lastStates(const ir::Op& scan);
  ValueId pageTable();

  ir::Module& program;
  const ServingLimits& limits;
  diag::Engine& engine;
  ValueNames names;
  ir::Function forward;
  DimId sequence = DimId::none;
  DimId slots = DimId::none; // one per sequence
  ValueId forwardTokens = ValueId::none;
  ValueId forwardPositions = ValueId::none;
  ValueId forwardAdapters = ValueId::none;
  ValueId forwardLogits = ValueId::none;
  ValueId forwardDraws = ValueId::none;
  ValueId forwardChosen = ValueId::none;
  TokenWiseTail tail;
  ValueId pages = ValueId::none;
  /// The values that live between steps, by op and suffix.
  std::unordered_map<std::string, ValueId> keptByName;

  // The current step.
  int64_t tokens = 0;
  DimId tokensDim = DimId::none;
  DimId rowsDim = DimId::none;
  ValueId positions = ValueId::none;
  ValueId sequences = ValueId::none;
  ValueId rows = ValueId::none;
  std::unordered_map<ValueId, ValueId> copies;
};

// ---- what lives between steps

/// Returns the value that an op keeps between steps. Dimensions that it shares
/// with `like` are split over the ranks in the same way.
ValueId ServePass::kept(const ir::Op& op, const char* suffix, ir::DType type,
                        std::vector<DimId> dims, ValueId like) {
  auto [found, isNew] = keptByName.try_emplace(op.name + suffix);
  if (!isNew)
    return found->second;
  ir::Value value;
  value.name = names.make(op.name + suffix);
  value.kind = ir::ValueKind::state;
  value.type = type;
  value.dims = std::move(dims);
  value.sharding.dims.resize(value.dims.size());
  const std::vector<DimId>& shared = program[like].dims;
  for (size_t i = 0; i < value.dims.size(); ++i)
    if (auto at = std::ranges::find(shared, value.dims[i]); at != shared.end())
      value.sharding.dims[i] =
          program[like].sharding.dims[size_t(at - shared.begin())];
  value.range = op.range;
  return found->second = ir::addValue(program, std::move(value));
}

/// The pages for rows [1, tokens, heads, width].
ValueId ServePass::pagesLike(const ir::Op& op, const char* suffix,
                             ValueId rowsOf) {
  const std::vector<DimId> like = program[rowsOf].dims;
  const DimId count =
      ir::addDim(program, cachePagesDim, limits.pagesOfSequence());
  const DimId page = ir::addDim(program, "page", limits.page);
  return kept(op, suffix, limits.cacheType.value_or(program[rowsOf].type),
              {count, page, like[2], like[3]}, rowsOf);
}

/// The scales of the rows of pages that are stored in 8 bits.
ValueId ServePass::scalesOfPages(const ir::Op& op, const char* suffix,
                                 ValueId pages) {
  const std::vector<DimId> like = program[pages].dims;
  return kept(op, suffix, ir::DType::f32, {like[0], like[1], like[2]}, pages);
}

/// The last inputs of a convolution of x [1, tokens, groups, channels] with w
/// [groups, channels, taps].
ValueId ServePass::lastInputs(const ir::Op& conv) {
  const ir::Value& x = program[conv.operands[0]];
  const std::vector<DimId> like = x.dims;
  const ir::DType type = x.type;
  const DimId taps = program[conv.operands[1]].dims[2];
  // A dimension cannot be 0: a convolution of one tap keeps an input that
  // nothing reads.
  const DimId count = ir::addDim(program, "conv_inputs",
                                 std::max<int64_t>(1, program[taps].size - 1));
  return kept(conv, ".inputs", type, {slots, like[2], like[3], count},
              conv.operands[0]);
}

/// The last states of a scan of x [1, tokens, groups, channels] with b [1,
/// tokens, groups, state].
ValueId ServePass::lastStates(const ir::Op& scan) {
  const ir::Value& x = program[scan.operands[0]];
  const DimId state = program[scan.operands[2]].dims[3];
  return kept(scan, ".last_states", ir::accumulationType(x.type),
              {slots, x.dims[2], x.dims[3], state}, scan.operands[0]);
}

ValueId ServePass::pageTable() {
  if (pages != ValueId::none)
    return pages;
  ir::Value value;
  value.name = names.make("pages");
  value.kind = ir::ValueKind::input;
  value.type = ir::DType::i32;
  value.dims = {
      slots, ir::addDim(program, "sequence_pages", limits.pagesOfSequence())};
  value.sharding.dims.resize(2);
  pages = ir::addValue(program, std::move(value));
  program.bindings["pages"] = pages;
  return pages;
}

// ---- copies

ValueId ServePass::addCopy(ValueId value) {
  ir::Value made = program[value];
  made.name = names.make(made.name + "_" + std::to_string(tokens));
  made.kind = ir::ValueKind::temporary;
  const DimId length = tail.results.contains(value) ? rowsDim : tokensDim;
  const int64_t whole = program[sequence].size;
  for (DimId& dim : made.dims)
    if (dim == sequence)
      dim = length;
    else if (std::string_view(program[dim].name).starts_with(placesDim))
      dim = ir::addDim(program, placesDim, program[dim].size / whole * tokens);
  return ir::addValue(program, std::move(made));
}

ValueId ServePass::copyOf(ValueId value) {
  if (value == ValueId::none || program[value].kind == ir::ValueKind::parameter)
    return value;
  auto [found, isNew] = copies.emplace(value, value);
  if (isNew)
    found->second = addCopy(value);
  return found->second;
}

/// Turns an op that mixes the tokens of a sequence into its step op: kind,
/// operands and results.
void ServePass::mix(const ir::Op& op, ir::Op& made) {
  const ValueId result = copyOf(op.results[0]);
  // The remaining operands, `segments` and `places`, are replaced.
  auto data = [&](size_t count) {
    made.operands.clear();
    for (size_t i = 0; i < count; ++i)
      made.operands.push_back(copyOf(op.operands[i]));
    made.operands.insert(made.operands.end(), {positions, sequences});
  };
  switch (op.kind) {
  case OpKind::Attention:
    data(3);
    made.operands.push_back(pageTable());
    made.kind = OpKind::AttentionPaged;
    made.results = {result, pagesLike(op, ".k_pages", op.operands[1]),
                    pagesLike(op, ".v_pages", op.operands[2]), ValueId::none,
                    ValueId::none};
    if (limits.cacheType) {
      made.results[3] = scalesOfPages(op, ".k_scales", made.results[1]);
      made.results[4] = scalesOfPages(op, ".v_scales", made.results[2]);
    }
    made.attributes.erase("causal");
    return;
  case OpKind::CausalConv:
    data(2);
    made.kind = OpKind::CausalConvStep;
    made.results = {result, lastInputs(op)};
    return;
  default:
    assert(op.kind == OpKind::StateScan);
    data(7);
    made.kind = OpKind::StateScanStep;
    made.results = {result, lastStates(op)};
    made.attributes.erase("chunk");
  }
}

ir::Op ServePass::copied(const ir::Op& op) {
  ir::Op made = op;
  if (op.kind == OpKind::Attention || op.kind == OpKind::CausalConv ||
      op.kind == OpKind::StateScan) {
    mix(op, made);
    return made;
  }
  for (size_t i = 0; i < op.operands.size(); ++i) {
    const bool isSegments = op.kind == OpKind::Route && i == 1;
    made.operands[i] = isSegments ? positions : copyOf(op.operands[i]);
  }
  for (ValueId& result : made.results)
    result = copyOf(result);
  return made;
}

void ServePass::copy(const ir::Op& op, ir::Function& step) {
  if (op.kind == OpKind::Dropout)
    copies[op.results[0]] = copyOf(op.operands[0]);
  else
    step.ops.push_back(copied(op));
}

/// Gathers the wanted rows of the tail's input; the tail, which begins in
/// `layer`, reads these.
void ServePass::takeRows(ir::Function& step, int layer) {
  const ValueId whole = copyOf(tail.input);
  ir::Value taken = program[whole];
  taken.name =
      names.make(program[tail.input].name + "_rows_" + std::to_string(tokens));
  taken.dims[1] = rowsDim;
  ir::Op op{};
  op.kind = OpKind::TakeRows;
  op.name = program[tail.input].name + ".rows";
  op.operands = {whole, rows};
  op.results = {ir::addValue(program, std::move(taken))};
  op.layer = layer;
  op.range = step.ops.back().range;
  copies[tail.input] = op.results[0];
  step.ops.push_back(std::move(op));
}

/// Binds the results of the current step that the host reads.
void ServePass::bindResults() {
  program.bindings[stepBinding("logits", tokens)] = copyOf(forwardLogits);
  program.bindings[stepBinding("chosen", tokens)] = copyOf(forwardChosen);
}

// ---- steps

/// Adds an input [1, count, ...] of the current step, with the type and the
/// further dimensions of `like`.
ValueId ServePass::input(const char* role, DimId count, ValueId like) {
  ir::Value value = program[like];
  value.name = names.make(stepBinding(role, tokens));
  value.kind = ir::ValueKind::input;
  value.dims[1] = count;
  const ValueId id = ir::addValue(program, std::move(value));
  program.bindings[stepBinding(role, tokens)] = id;
  return id;
}

void ServePass::addStep(int64_t width) {
  tokens = width;
  tokensDim = ir::addDim(program, stepBinding("tokens", width), width);
  rowsDim = ir::addDim(program, stepBinding("rows", width), limits.rows(width));
  copies.clear();
  copies[forwardTokens] = input("tokens", tokensDim, forwardTokens);
  positions = input("positions", tokensDim, forwardTokens);
  if (forwardPositions != ValueId::none)
    copies[forwardPositions] = positions;
  if (forwardAdapters != ValueId::none)
    copies[forwardAdapters] = input("adapters", tokensDim, forwardTokens);
  sequences = input("sequences", tokensDim, forwardTokens);
  rows = input("rows", rowsDim, forwardTokens);
  copies[forwardDraws] = input("draws", rowsDim, forwardDraws);
  ir::Function step;
  step.name = stepFunction(width);
  for (size_t i = 0; i < forward.ops.size(); ++i) {
    copy(forward.ops[i], step);
    if (forward.ops[i].results[0] == tail.input)
      takeRows(step, forward.ops[i + 1].layer);
  }
  bindResults();
  program.functions.push_back(std::move(step));
}

bool ServePass::isCausal() {
  for (const ir::Op& op : forward.ops) {
    if (op.kind != OpKind::Attention ||
        ops::AttentionAttributes(op.attributes).causal)
      continue;
    engine
        .report(diag::Kind::InvalidValue, op.range,
                "attention that is not causal cannot generate: a token would "
                "see those that follow it")
        .help("set `causal` to `true`, or leave `export.hf` out");
    return false;
  }
  return true;
}

/// Whether a wrong draft token can be undone: the model keeps only keys and
/// values of a token, which later tokens overwrite.
bool ServePass::canTakeBack() {
  if (limits.draftTokens == 0)
    return true;
  const auto keeps =
      std::ranges::find(forward.ops, OpKind::StateScan, &ir::Op::kind);
  if (keeps == forward.ops.end())
    return true;
  engine
      .report(diag::Kind::InvalidValue, limits.draftRange,
              "`draft` guesses tokens, and the states of this model's "
              "state-space layers cannot take wrong ones back")
      .note("a state-space layer", keeps->range)
      .propose({"set ", {{"`draft` to `none`", {"serve.draft=none"}}}, "", 1})
      .otherwise("leave `draft` out");
  return false;
}

void ServePass::takeForward() {
  forward = std::move(program.functions.front());
  program.functions.clear();
  auto bound = [&](const char* role) {
    auto found = program.bindings.find(role);
    return found == program.bindings.end() ? ValueId::none : found->second;
  };
  forwardTokens = bound("tokens");
  forwardPositions = bound("positions");
  forwardAdapters = bound("adapters");
  forwardDraws = bound("draws");
  forwardChosen = bound("chosen");
  // Sampling reads whole rows of logits, even if the vocabulary is split.
  forwardLogits = forward.ops.back().operands[0];
  assert(forward.ops.back().kind == OpKind::Sample);
  program.bindings.clear();
}

void ServePass::run() {
  assert(program.functions.size() == 1 && "the Program is `forward` alone");
  takeForward();
  if (!isCausal() || !canTakeBack())
    return;
  sequence = ir::findDim(program, "sequence");
  slots = ir::addDim(program, "slots", limits.maxBatch);
  tail = findTokenWiseTail(program, forward, forwardChosen);
  for (int64_t width : stepWidths(limits))
    addStep(width);
}

} // namespace

void addServing(ir::Module& program, const ServingLimits& limits,
                diag::Engine& engine) {
  ServePass(program, limits, engine).run();
}

} // namespace recipec::passes
