// What ops make for casts to 8 bits alone need not lie in memory: it is made
// where it is cast, twice where a pass over all of it finds the scale. That
// reads the op's operands once more, and saves that its results are written and
// read.
//
// 1. Count the readers of each value, in all functions.
// 2. Find each swiglu and swiglu_backward each of whose results is a temporary
//    with one reader, which is a quantize of the same function and layer; those
//    of one op are alike.
// 3. One op that makes what the quantizes make takes the first one's place, and
//    they go. What nobody reads of that is left out.

#include "compiler/passes/precision/FuseCasts.h"
#include "runtime/ops/OpKind.h"

#include <algorithm>
#include <vector>

namespace recipec::passes {

namespace {

using ir::Op;
using ir::OpKind;
using ir::ValueId;

class CastFusion {
public:
  explicit CastFusion(ir::Module& program)
      : program(program), readers(program.values.size()) {
    for (const ir::Function& function : program.functions)
      for (const Op& op : function.ops)
        for (ValueId operand : op.operands)
          if (operand != ValueId::none)
            ++readers[size_t(operand)];
    for (const auto& [role, value] : program.bindings)
      ++readers[size_t(value)];
  }

  void run() {
    for (ir::Function& function : program.functions)
      run(function.ops);
  }

private:
  void run(std::vector<Op>& ops) {
    std::vector<size_t> castOf(program.values.size(), ops.size());
    for (size_t i = 0; i < ops.size(); ++i)
      if (ops[i].kind == OpKind::Quantize)
        castOf[size_t(ops[i].operands[0])] = i;
    std::vector<bool> dropped(ops.size());
    for (Op& op : ops) {
      if (op.kind != OpKind::Swiglu && op.kind != OpKind::SwigluBackward)
        continue;
      std::vector<size_t> casts;
      for (ValueId result : op.results)
        casts.push_back(castOf[size_t(result)]);
      if (!std::ranges::all_of(casts, [&](size_t cast) {
            return cast < ops.size() && isAllThatReads(ops[cast], op) &&
                   areAlike(ops[cast], ops[casts[0]]);
          }))
        continue;
      fuse(op, ops, casts);
      for (size_t cast : casts)
        dropped[cast] = true;
    }
    size_t next = 0;
    std::erase_if(ops, [&](const Op&) { return dropped[next++]; });
  }

  bool isAllThatReads(const Op& cast, const Op& maker) const {
    const ValueId value = cast.operands[0];
    return program[value].kind == ir::ValueKind::temporary &&
           readers[size_t(value)] == 1 && cast.layer == maker.layer;
  }

  /// Whether one op can be both.
  bool areAlike(const Op& cast, const Op& other) const {
    return cast.attributes == other.attributes && typeOf(cast) == typeOf(other);
  }

  ir::DType typeOf(const Op& cast) const {
    const ValueId q = cast.results[0];
    return program[q != ValueId::none ? q : cast.results[2]].type;
  }

  void fuse(Op& op, const std::vector<Op>& ops,
            const std::vector<size_t>& casts) const {
    op.kind = op.kind == OpKind::Swiglu ? OpKind::SwigluQuantize
                                        : OpKind::SwigluBackwardQuantize;
    op.attributes = ops[casts[0]].attributes;
    op.results.clear();
    for (size_t cast : casts) {
      op.operands.push_back(ops[cast].operands[1]);
      for (ValueId result : ops[cast].results)
        op.results.push_back(isNeeded(result) ? result : ValueId::none);
    }
  }

  /// Whether a result is read, or there for the next step.
  bool isNeeded(ValueId result) const {
    return result != ValueId::none && readers[size_t(result)] > 0;
  }

  ir::Module& program;
  std::vector<int> readers; // by value
};

} // namespace

void fuseCasts(ir::Module& program) {
  CastFusion(program).run();
}

} // namespace recipec::passes
