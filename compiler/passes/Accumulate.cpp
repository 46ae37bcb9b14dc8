// Adds of a linear's result become part of the linear.
//
// 1. Count for each value the ops that read and that write it, in all
//    functions, and note the op that wrote it last in this function.
// 2. At an add of a and b, where b is a linear's, a is made before it, and each
//    is written and read once: the op that makes a makes the sum's buffer, the
//    linear adds to it, the add goes. A sum of which that is so has two ops
//    that write it, and a further add of it stays.

#include "compiler/passes/Accumulate.h"

#include <vector>

namespace recipec::passes {

namespace {

using ir::Op;
using ir::OpKind;
using ir::ValueId;

class Accumulation {
public:
  explicit Accumulation(ir::Module& program)
      : program(program), uses(program.values.size()) {}

  void run() {
    for (const ir::Function& function : program.functions)
      for (const Op& op : function.ops)
        count(op);
    for (const auto& [role, value] : program.bindings)
      ++uses[size_t(value)];
    for (ir::Function& function : program.functions)
      run(function);
  }

private:
  void count(const Op& op) {
    for (const std::vector<ValueId>* list : {&op.operands, &op.results})
      for (ValueId value : *list)
        if (value != ValueId::none)
          ++uses[size_t(value)];
  }

  void run(ir::Function& function) {
    makers.assign(program.values.size(), -1);
    std::vector<bool> dropped(function.ops.size());
    for (size_t i = 0; i < function.ops.size(); ++i) {
      dropped[i] = fold(function, function.ops[i]);
      for (ValueId result : function.ops[i].results)
        if (result != ValueId::none)
          makers[size_t(result)] = int(i);
    }
    size_t next = 0;
    std::erase_if(function.ops, [&](const Op&) { return dropped[next++]; });
  }

  /// Whether `add` was folded into a linear.
  bool fold(ir::Function& function, const Op& add) {
    if (add.kind != OpKind::Add)
      return false;
    for (size_t i = 0; i < 2; ++i) {
      ValueId base = add.operands[i], product = add.operands[1 - i];
      if (!isOwn(base) || !isOwn(product))
        continue;
      Op& maker = function.ops[size_t(makers[size_t(base)])];
      Op& linear = function.ops[size_t(makers[size_t(product)])];
      if (linear.kind != OpKind::Linear || &maker >= &linear)
        continue;
      for (ValueId& result : maker.results)
        if (result == base)
          result = add.results[0];
      linear.results[0] = add.results[0];
      linear.attributes["accumulate"] = true;
      uses[size_t(add.results[0])] += 2; // by the linear, beside its maker
      return true;
    }
    return false;
  }

  /// Whether the add alone reads a value that one op of this function makes.
  bool isOwn(ValueId value) const {
    return program[value].kind == ir::ValueKind::temporary &&
           makers[size_t(value)] >= 0 && uses[size_t(value)] == 2;
  }

  ir::Module& program;
  std::vector<int> uses;
  std::vector<int> makers;
};

} // namespace

void accumulate(ir::Module& program) {
  Accumulation(program).run();
}

} // namespace recipec::passes
