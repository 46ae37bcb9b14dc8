// 1. Choose the ops of `forward` that may be recomputed: those of a layer or of
//    the selected parts, in the layers that the recipe names. In all layers,
//    also choose the ops of the second pass of experts, which saves memory only
//    when they are recomputed, the ops of state spaces that their published
//    kernels recompute, which take three fifths of a layer's memory and little
//    time, rows of experts that are saved in fp8, and copies of a part of a
//    value that is saved anyway.
// 2. Walk through `backward`. When an op reads a saved value that a chosen op
//    computed, recompute that op just before the reader, preceded by the ops
//    that it depends on in the order of `forward`, each once. Inputs from ops
//    that are not recomputed are saved.
// 3. Turn saved values that `backward` no longer reads into temporaries, and
//    remove states of scans that no op reads.

#include "compiler/passes/differentiate/Recompute.h"

#include "compiler/passes/SavedValues.h"
#include "compiler/passes/ValueNames.h"
#include "compiler/passes/differentiate/RecomputedModules.h"
#include "compiler/passes/schedule/Stages.h"
#include "runtime/ops/OpKind.h"

#include <algorithm>
#include <cassert>
#include <unordered_map>
#include <utility>

namespace recipec::passes {
namespace {

using ir::Op;
using ir::OpKind;
using ir::ValueId;
using ir::ValueKind;

/// The ops of `forward` that are recomputed.
class Selection {
public:
  Selection(const ir::Module& program, const recipe::Recipe& recipe)
      : program(program),
        hasWholeWeights(recipe.string("parallel.shard") != "parameters") {
    if (recipe.string("memory.recompute") != "none")
      selectLayers(recipe);
    const std::vector<Op>& ops = ir::findFunction(program, "forward")->ops;
    selected.assign(ops.size(), recipe.string("memory.recompute") == "full");
    for (const recipe::Value& part :
         std::get<recipe::List>(recipe.at("memory.recompute_modules").data)) {
      std::vector<bool> more =
          opsOfModule(program, std::get<std::string>(part.data));
      for (size_t i = 0; i < ops.size(); ++i)
        selected[i] = selected[i] || more[i];
    }
    const std::vector<bool> rows = opsOfSecondPass(program),
                            states = opsOfStateSpaces(program);
    savesOutput.resize(ops.size());
    for (size_t i = 0; i < ops.size(); ++i) {
      const bool isNamed = selected[i] && isInLayers(ops[i]);
      selected[i] = (rows[i] || states[i] || copiesSaved(ops[i]) ||
                     ops[i].kind == OpKind::DequantizeRows || isNamed) &&
                    mayRunAgain(ops[i]);
      savesOutput[i] = ops[i].kind == OpKind::StateScan && !isNamed;
    }
  }

  bool empty() const {
    return std::find(selected.begin(), selected.end(), true) == selected.end();
  }

  /// Whether result number `result` of an op is recomputed. Recomputing the
  /// output of a scan takes longer than recomputing its states, so the output
  /// is saved unless the recipe names the scan.
  bool contains(size_t op, size_t result) const {
    return selected[op] && !(savesOutput[op] && result == 0);
  }

private:
  void selectLayers(const recipe::Recipe& recipe) {
    int64_t most = recipe.integer("memory.recompute_layers");
    for (int64_t layers : layersOfChunks(recipe))
      for (int64_t i = 0; i < layers; ++i)
        isInLayer.push_back(i < most);
  }

  bool isInLayers(const Op& op) const {
    return op.layer >= 0 && isInLayer[size_t(op.layer)];
  }

  bool copiesSaved(const Op& op) const {
    return op.kind == OpKind::Narrow &&
           program[op.operands[0]].kind == ValueKind::saved;
  }

  /// Whether running the op again has no side effects and saves memory. Routing
  /// adds to the loss, which must happen only once, and a quantize may update
  /// an amax history. Full fp8 weights are kept anyway.
  bool mayRunAgain(const Op& op) const {
    if (op.kind == OpKind::Quantize && hasWholeWeights &&
        program[op.operands[0]].kind == ValueKind::parameter)
      return false;
    return std::none_of(op.results.begin(), op.results.end(),
                        [&](ValueId result) {
                          return result != ValueId::none &&
                                 program[result].kind == ValueKind::state;
                        });
  }

  const ir::Module& program;
  bool hasWholeWeights;        // each rank keeps the full weights
  std::vector<bool> isInLayer; // by layer of the model
  std::vector<bool> selected, savesOutput;
};

class Recomputation {
public:
  Recomputation(ir::Module& program, const recipe::Recipe& recipe)
      : program(program), names(program), selection(program, recipe) {
    const std::vector<Op>& ops = ir::findFunction(program, "forward")->ops;
    for (size_t i = 0; i < ops.size(); ++i)
      for (size_t j = 0; j < ops[i].results.size(); ++j)
        if (ops[i].results[j] != ValueId::none)
          makers[ops[i].results[j]] = {i, j};
  }

  void run() {
    if (selection.empty())
      return;
    ir::Function& backward = *ir::findFunction(program, "backward");
    std::vector<Op> ops = std::move(backward.ops);
    for (Op& op : ops) {
      for (ValueId& operand : op.operands)
        operand = read(operand, op);
      out.push_back(std::move(op));
    }
    ir::findFunction(program, "backward")->ops = std::move(out);
    dropUnreadSaved(program);
    dropUnreadStates();
  }

private:
  /// The value that an op of `backward` reads in place of `value`: a recomputed
  /// copy or `value` itself. Values that pass from layer to layer are saved, so
  /// that each layer can be recomputed independently.
  ValueId read(ValueId value, const Op& reader) {
    auto maker = makers.find(value);
    if (maker == makers.end() || !isLocal(value))
      return value;
    if (auto known = copies.find(value); known != copies.end())
      return known->second;
    const auto [index, result] = maker->second;
    const Op& source = ir::findFunction(program, "forward")->ops[index];
    bool isWithin = source.layer == reader.layer;
    if (!isWithin || !selection.contains(index, result)) {
      program[value].kind = ValueKind::saved;
      return value;
    }
    runAgain(index);
    return copies.at(value);
  }

  bool isLocal(ValueId value) const {
    return program[value].kind == ValueKind::temporary ||
           program[value].kind == ValueKind::saved;
  }

  void runAgain(size_t index) {
    const Op& source = ir::findFunction(program, "forward")->ops[index];
    Op op = source;
    for (ValueId& operand : op.operands)
      operand = read(operand, source);
    for (size_t i = 0; i < op.results.size(); ++i) {
      ValueId& result = op.results[i];
      if (!selection.contains(index, i))
        result = ValueId::none;
      if (result == ValueId::none)
        continue;
      ir::Value copy = program[result];
      copy.kind = ValueKind::temporary;
      copy.name = names.make("again." + copy.name);
      ValueId made = ir::addValue(program, std::move(copy));
      copies[result] = made;
      result = made;
    }
    out.push_back(std::move(op));
  }

  /// Removes the states that a scan saves before each chunk, if `backward` does
  /// not read them.
  void dropUnreadStates() {
    for (Op& op : ir::findFunction(program, "forward")->ops)
      if (op.kind == OpKind::StateScan &&
          program[op.results[1]].kind != ValueKind::saved)
        op.results[1] = ValueId::none;
  }

  ir::Module& program;
  ValueNames names;
  Selection selection;
  /// By value: the index of the op of `forward` that computes it, and of its
  /// result.
  std::unordered_map<ValueId, std::pair<size_t, size_t>> makers;
  std::unordered_map<ValueId, ValueId> copies;
  std::vector<Op> out;
};

} // namespace

void recompute(ir::Module& program, const recipe::Recipe& recipe) {
  Recomputation(program, recipe).run();
}

} // namespace recipec::passes
