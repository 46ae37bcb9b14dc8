// Clones `forward` as `evaluate`.
//
// 1. Copy the ops of `forward`, except dropout, whose readers read its operand.
//    Leave out the balancing losses and the prediction of further tokens,
//    because validation measures prediction of the next one, and the counters
//    of routers, which belong to a training step.
// 2. Give each temporary or saved result a temporary of its own, named
//    `eval.<name>`. Inputs, parameters and the loss stay the same values.

#include "compiler/passes/inference/Evaluate.h"

#include "compiler/passes/ValueNames.h"
#include "runtime/ops/OpKind.h"

#include <algorithm>
#include <cassert>
#include <vector>

namespace recipec::passes {

namespace {

using ir::Op;
using ir::ValueId;

class Clone {
public:
  explicit Clone(ir::Module& module)
      : module(module), names(module), copies(module.values.size()) {
    for (size_t i = 0; i < copies.size(); ++i)
      copies[i] = ValueId(i);
  }

  ir::Function run(const ir::Function& forward) {
    ir::Function evaluate{"evaluate", {}};
    const std::vector<bool> isLeftOut = findFurther(forward.ops);
    for (size_t i = 0; i < forward.ops.size(); ++i) {
      const Op& op = forward.ops[i];
      if (isLeftOut[i])
        continue;
      if (op.kind == ir::OpKind::Dropout)
        copies[size_t(op.results[0])] = copyOf(op.operands[0]);
      else
        evaluate.ops.push_back(clone(op));
    }
    return evaluate;
  }

private:
  /// The ops on which only the loss of further tokens depends.
  std::vector<bool> findFurther(const std::vector<Op>& ops) const {
    std::vector<bool> found(ops.size());
    const auto sum = module.bindings.find("further_loss");
    if (sum == module.bindings.end())
      return found;
    std::vector<bool> isRead(module.values.size());
    isRead[size_t(module.bindings.at("loss"))] = true;
    for (size_t i = ops.size(); i-- > 0;) {
      found[i] = std::ranges::none_of(ops[i].results, [&](ValueId result) {
        return result != ValueId::none && isRead[size_t(result)];
      });
      if (!found[i])
        for (ValueId operand : ops[i].operands)
          if (operand != ValueId::none)
            isRead[size_t(operand)] = true;
    }
    return found;
  }

  ValueId copyOf(ValueId value) const {
    return value == ValueId::none ? value : copies[size_t(value)];
  }

  Op clone(const Op& op) {
    Op copy = op;
    copy.attributes.erase("aux_loss");
    copy.attributes.erase("z_loss");
    if (op.kind == ir::OpKind::Route)
      copy.results[3] = copy.results[4] = ValueId::none;
    if (op.kind == ir::OpKind::Quantize) // no update of the amax history
      copy.operands[1] = copy.results[4] = ValueId::none;
    if (op.kind == ir::OpKind::PackRows)
      copy.results[2] = ValueId::none;
    for (ValueId& operand : copy.operands)
      operand = copyOf(operand);
    for (ValueId& result : copy.results)
      result = resultOf(result);
    return copy;
  }

  ValueId resultOf(ValueId result) {
    if (result == ValueId::none || copyOf(result) != result)
      return copyOf(result); // absent, or written again
    ir::Value value = module[result];
    if (value.kind != ir::ValueKind::temporary &&
        value.kind != ir::ValueKind::saved)
      return result;
    value.kind = ir::ValueKind::temporary;
    value.name = names.make("eval." + value.name);
    return copies[size_t(result)] = ir::addValue(module, std::move(value));
  }

  ir::Module& module;
  ValueNames names;
  std::vector<ValueId> copies; // by value of `forward`
};

} // namespace

void addEvaluate(ir::Module& module) {
  const ir::Function* forward = ir::findFunction(module, "forward");
  assert(forward && "a Program has a function `forward`");
  ir::Function evaluate = Clone(module).run(*forward);
  module.functions.push_back(std::move(evaluate));
}

} // namespace recipec::passes
