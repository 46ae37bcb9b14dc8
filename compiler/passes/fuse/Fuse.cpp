// Fuses ops of a Graph.
//
// 1. Count the readers of each value and record the op that computes it.
// 2. At a mul of a silu and another value, when only the mul reads the silu:
//    turn the mul into a swiglu of the silu's operand and the other value.
// 3. Drop the silus whose readers are gone.

#include "compiler/passes/fuse/Fuse.h"

#include "compiler/passes/ValueNames.h"
#include "runtime/ops/OpKind.h"

#include <vector>

namespace recipec::passes {

namespace {

using ir::Op;
using ir::OpKind;
using ir::ValueId;

class Fusion {
public:
  Fusion(ir::Module& module, ir::Function& function)
      : module(module), function(function), makers(module.values.size(), -1),
        readers(module.values.size()), names(module) {}

  void run() {
    count();
    std::vector<bool> dropped(function.ops.size());
    for (Op& op : function.ops) {
      if (op.kind != OpKind::Mul)
        continue;
      int silu = fusedSilu(op);
      if (silu < 0)
        continue;
      dropped[size_t(silu)] = true;
      fuse(op, function.ops[size_t(silu)]);
    }
    size_t next = 0;
    std::erase_if(function.ops, [&](const Op&) { return dropped[next++]; });
  }

private:
  void count() {
    for (size_t i = 0; i < function.ops.size(); ++i) {
      for (ValueId result : function.ops[i].results)
        if (result != ValueId::none)
          makers[size_t(result)] = int(i);
      for (ValueId operand : function.ops[i].operands)
        if (operand != ValueId::none)
          ++readers[size_t(operand)];
    }
    for (const auto& [role, value] : module.bindings)
      ++readers[size_t(value)];
  }

  /// The index of a silu that is a factor of a mul and that no other op reads;
  /// -1 when there is none.
  int fusedSilu(const Op& mul) const {
    for (ValueId factor : mul.operands) {
      int maker = makers[size_t(factor)];
      if (maker >= 0 && readers[size_t(factor)] == 1 &&
          function.ops[size_t(maker)].kind == OpKind::Silu)
        return maker;
    }
    return -1;
  }

  void fuse(Op& mul, const Op& silu) {
    ValueId activated = silu.results[0];
    ValueId up = mul.operands[mul.operands[0] == activated ? 1 : 0];
    ir::Value& result = module[mul.results[0]];
    // A name derived from the op would be misleading after the fusion.
    if (lastPart(mul.name) == "mul")
      mul.name = result.name = names.make(join(scopeOf(mul.name), "swiglu"));
    mul.kind = OpKind::Swiglu;
    mul.operands = {silu.operands[0], up};
  }

  ir::Module& module;
  ir::Function& function;
  std::vector<int> makers;
  std::vector<int> readers;
  ValueNames names;
};

} // namespace

void fuse(ir::Module& module) {
  for (ir::Function& function : module.functions)
    Fusion(module, function).run();
}

} // namespace recipec::passes
