// Makes `step_N` from `forward` for each bucket of N tokens.
//
// 1. Copy the ops. Each bucket has its own copy of all values except
//    parameters, with N tokens for `sequence`.
// 2. Turn `attention` into `attention_cached`: it writes keys and values to the
//    layer's caches at their positions, and queries attend to the cache.
// 3. Leave out `dropout`: its result is its operand.
// 4. `route` recognises padding by its positions, because there are no
//    segments.
// 5. State-space ops read `segments`, of one document, and process a text from
//    its first token: see generationBuckets.

#include "compiler/passes/inference/Generate.h"

#include "compiler/passes/check/CheckLowered.h"
#include "compiler/passes/common/ExpertRouting.h"
#include "compiler/passes/common/StateSpaceDims.h"
#include "compiler/passes/common/ValueNames.h"
#include "runtime/ops/AttentionOps.h"
#include "runtime/ops/OpKind.h"
#include "runtime/ops/StateSpaceOps.h"

#include <algorithm>
#include <cassert>
#include <unordered_map>

namespace recipec::passes {
namespace {

using ir::DimId;
using ir::OpKind;
using ir::ValueId;

/// The two caches of an attention op.
struct Caches {
  ValueId keys = ValueId::none;
  ValueId values = ValueId::none;
};

class GeneratePass {
public:
  GeneratePass(ir::Module& program, const recipe::Recipe& recipe,
               diag::Engine& engine)
      : program(program), engine(engine), names(program),
        capacity(recipe.integer("data.sequence")),
        buckets(generationBuckets(recipe)), keepsSegments(hasStates(recipe)) {}

  void run();

private:
  void addBucket(int64_t tokens);
  void copy(const ir::Op& op, ir::Function& function);
  void cacheAttention(ir::Op& op);
  void countChunks(const ir::Op& scan);
  Caches& cachesOf(const ir::Op& op);
  ValueId cache(const ir::Op& op, const char* suffix, ValueId like);
  ValueId copyOf(ValueId value);
  ValueId addCopy(const ir::Value& value);

  ir::Module& program;
  diag::Engine& engine;
  ValueNames names;
  int64_t capacity;
  std::vector<int64_t> buckets;
  bool keepsSegments; // for state-space ops
  ir::Function forward;
  ValueId forwardTokens = ValueId::none;
  ValueId forwardPositions = ValueId::none;
  ValueId forwardSegments = ValueId::none;
  ValueId forwardLogits = ValueId::none;
  std::unordered_map<std::string, Caches> caches; // by the op's name

  // The current bucket.
  int64_t tokens = 0;
  DimId tokensDim = DimId::none;
  ValueId positions = ValueId::none;
  std::unordered_map<ValueId, ValueId> copies;
};

ValueId GeneratePass::addCopy(const ir::Value& value) {
  ir::Value made = value;
  made.name = names.make(value.name + "_" + std::to_string(tokens));
  made.kind = value.kind == ir::ValueKind::input ? ir::ValueKind::input
                                                 : ir::ValueKind::temporary;
  DimId sequence = ir::findDim(program, "sequence");
  int64_t whole = program[sequence].size;
  for (DimId& dim : made.dims)
    if (dim == sequence)
      dim = tokensDim;
    else if (std::string_view(program[dim].name).starts_with(placesDim))
      dim = ir::addDim(program, placesDim, program[dim].size / whole * tokens);
  return ir::addValue(program, std::move(made));
}

ValueId GeneratePass::copyOf(ValueId value) {
  if (value == ValueId::none || program[value].kind == ir::ValueKind::parameter)
    return value;
  auto [found, isNew] = copies.emplace(value, value);
  if (isNew)
    found->second = addCopy(ir::Value(program[value]));
  return found->second;
}

ValueId GeneratePass::cache(const ir::Op& op, const char* suffix,
                            ValueId like) {
  ir::Value value;
  value.name = names.make(op.name + suffix);
  value.kind = ir::ValueKind::state;
  value.type = program[like].type;
  const std::vector<DimId>& dims = program[like].dims; // batch, tokens, ...
  value.dims = {ir::addDim(program, "cache", capacity), dims[2], dims[3]};
  value.sharding.dims.resize(value.dims.size());
  value.range = op.range;
  return ir::addValue(program, std::move(value));
}

Caches& GeneratePass::cachesOf(const ir::Op& op) {
  auto [found, isNew] = caches.try_emplace(op.name);
  if (isNew) {
    found->second.keys = cache(op, ".k_cache", op.operands[1]);
    found->second.values = cache(op, ".v_cache", op.operands[2]);
  }
  return found->second;
}

/// The operands of `op` are copies already; its results are still those of
/// `forward`.
void GeneratePass::cacheAttention(ir::Op& op) {
  const Caches& cached = cachesOf(op);
  op.kind = OpKind::AttentionCached;
  op.operands[3] = positions;
  op.results = {op.results[0], cached.keys, cached.values};
  op.attributes.erase("causal");
}

/// Sets the number of states that a copied scan keeps for this many tokens.
void GeneratePass::countChunks(const ir::Op& scan) {
  const int64_t chunk = ops::StateScanAttributes(scan.attributes).chunk;
  program[scan.results[1]].dims[2] =
      ir::addDim(program, mambaChunksDim, (tokens + chunk - 1) / chunk);
}

void GeneratePass::copy(const ir::Op& op, ir::Function& function) {
  if (op.kind == OpKind::Dropout) {
    copies[op.results[0]] = copyOf(op.operands[0]);
    return;
  }
  ir::Op made = op;
  if (op.kind == OpKind::Attention) {
    made.operands.resize(3); // `segments` and `places` have no copy
    for (ValueId& operand : made.operands)
      operand = copyOf(operand);
    made.operands.push_back(ValueId::none);
    cacheAttention(made);
    made.results[0] = copyOf(op.results[0]);
  } else {
    bool isRoute = op.kind == OpKind::Route;
    if (isRoute)
      made.operands[1] = ValueId::none; // `segments` has no copy
    for (ValueId& operand : made.operands)
      operand = copyOf(operand);
    if (isRoute)
      made.operands[1] = positions;
    for (ValueId& result : made.results)
      result = copyOf(result);
    if (op.kind == OpKind::StateScan)
      countChunks(made);
  }
  function.ops.push_back(std::move(made));
}

void GeneratePass::addBucket(int64_t count) {
  tokens = count;
  tokensDim = ir::addDim(program, "tokens_" + std::to_string(count), count);
  copies.clear();
  auto bind = [&](const char* role, ValueId value) {
    program.bindings[bucketBinding(role, tokens)] = value;
    return value;
  };
  ValueId read = bind("tokens", copyOf(forwardTokens));
  if (forwardPositions != ValueId::none) {
    positions = copyOf(forwardPositions);
  } else {
    ir::Value value = program[read]; // of the same shape and type
    value.name = names.make(bucketBinding("positions", tokens));
    positions = ir::addValue(program, std::move(value));
  }
  bind("positions", positions);
  if (forwardSegments != ValueId::none)
    bind("segments", copyOf(forwardSegments));
  ir::Function function;
  function.name = bucketFunction(tokens);
  for (const ir::Op& op : forward.ops)
    copy(op, function);
  bind("logits", copyOf(forwardLogits));
  program.functions.push_back(std::move(function));
}

void GeneratePass::run() {
  assert(program.functions.size() == 1 && "the Program is `forward` alone");
  forward = std::move(program.functions.front());
  program.functions.clear();
  for (const ir::Op& op : forward.ops) {
    if (ops::AttentionAttributes(op.attributes).causal)
      continue;
    engine
        .report(diag::Kind::InvalidValue, op.range,
                "attention that is not causal cannot generate: a token would "
                "see those that follow it")
        .help("set `causal` to `true`, or leave `export.hf` out");
    return;
  }
  forwardTokens = program.bindings.at("tokens");
  forwardLogits = program.bindings.at("logits");
  auto bound = [&](const char* role) {
    auto found = program.bindings.find(role);
    return found == program.bindings.end() ? ValueId::none : found->second;
  };
  forwardPositions = bound("positions");
  forwardSegments = keepsSegments ? bound("segments") : ValueId::none;
  program.bindings.clear();
  for (int64_t count : buckets)
    addBucket(count);
}

} // namespace

std::string bucketFunction(int64_t tokens) {
  return "step_" + std::to_string(tokens);
}

std::string bucketBinding(const std::string& role, int64_t tokens) {
  return role + "_" + std::to_string(tokens);
}

std::vector<int64_t> generationBuckets(const recipe::Recipe& recipe) {
  if (!hasStates(recipe))
    return {generationTokens, 1};
  std::vector<int64_t> widths = {recipe.integer("data.sequence")};
  while (widths.back() > generationTokens)
    widths.push_back(std::max(generationTokens, (widths.back() + 3) / 4));
  return widths;
}

void addGeneration(ir::Module& program, const recipe::Recipe& recipe,
                   diag::Engine& engine) {
  GeneratePass(program, recipe, engine).run();
}

} // namespace recipec::passes
