// 1. Find the ops of `forward` that may be recomputed: those of a layer or of
//    the selected parts, in the layers that the recipe names. In all layers,
//    those of the second pass of experts, which saves memory only that way.
// 2. Walk through `backward`. When an op reads a saved value that a selected op
//    computed, recompute that op just before the reader, preceded by the ops
//    that it depends on in the order of `forward`, each once. Inputs from ops
//    that are not recomputed are saved.
// 3. Turn saved values that `backward` no longer reads into temporaries.

#include "compiler/passes/differentiate/Recompute.h"

#include "compiler/passes/SavedValues.h"
#include "compiler/passes/ValueNames.h"
#include "compiler/passes/differentiate/RecomputedModules.h"
#include "compiler/passes/schedule/Stages.h"
#include "runtime/ops/OpKind.h"

#include <algorithm>
#include <cassert>
#include <unordered_map>

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
    const std::vector<bool> always = opsOfSecondPass(program);
    for (size_t i = 0; i < ops.size(); ++i)
      selected[i] = (always[i] || (selected[i] && isInLayers(ops[i]))) &&
                    mayRunAgain(ops[i]);
  }

  bool empty() const {
    return std::find(selected.begin(), selected.end(), true) == selected.end();
  }

  /// Takes the index of an op.
  bool contains(size_t op) const { return selected[op]; }

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

  /// Routing adds to the loss, which must happen only once, and a scale may
  /// update an amax history. Whole fp8 weights are kept anyway.
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
  bool hasWholeWeights;        // each rank keeps them
  std::vector<bool> isInLayer; // by layer of the model
  std::vector<bool> selected;
};

class Recomputation {
public:
  Recomputation(ir::Module& program, const recipe::Recipe& recipe)
      : program(program), names(program), selection(program, recipe) {
    const std::vector<Op>& ops = ir::findFunction(program, "forward")->ops;
    for (size_t i = 0; i < ops.size(); ++i)
      for (ValueId result : ops[i].results)
        if (result != ValueId::none)
          makers[result] = i;
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
  }

private:
  /// The value as an op of `backward` reads it. Values that go from layer to
  /// layer are kept, so that each layer can be recomputed independently.
  ValueId read(ValueId value, const Op& reader) {
    auto maker = makers.find(value);
    if (maker == makers.end() || !isLocal(value))
      return value;
    if (auto known = copies.find(value); known != copies.end())
      return known->second;
    const Op& source = ir::findFunction(program, "forward")->ops[maker->second];
    bool isWithin = source.layer == reader.layer;
    if (!isWithin || !selection.contains(maker->second)) {
      program[value].kind = ValueKind::saved;
      return value;
    }
    runAgain(source);
    return copies.at(value);
  }

  bool isLocal(ValueId value) const {
    return program[value].kind == ValueKind::temporary ||
           program[value].kind == ValueKind::saved;
  }

  void runAgain(const Op& source) {
    Op op = source;
    for (ValueId& operand : op.operands)
      operand = read(operand, source);
    for (ValueId& result : op.results) {
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

  ir::Module& program;
  ValueNames names;
  Selection selection;
  std::unordered_map<ValueId, size_t> makers; // indices of ops of `forward`
  std::unordered_map<ValueId, ValueId> copies;
  std::vector<Op> out;
};

} // namespace

void recompute(ir::Module& program, const recipe::Recipe& recipe) {
  Recomputation(program, recipe).run();
}

} // namespace recipec::passes
