// See FuseRope.h.

#include "compiler/passes/inference/FuseRope.h"

#include "compiler/passes/ValueReaders.h"
#include "runtime/ops/AttentionOps.h"
#include "runtime/ops/OpKind.h"

#include <vector>

namespace recipec::passes {
namespace {

using ir::Op;
using ir::OpKind;
using ir::ValueId;

class RopeFusion {
public:
  explicit RopeFusion(ir::Module& program)
      : program(program), readers(countReaders(program)) {}

  void run() {
    for (ir::Function& function : program.functions)
      run(function.ops);
  }

private:
  void run(std::vector<Op>& ops) const {
    std::vector<size_t> ropeOf(program.values.size(), ops.size());
    std::vector<bool> dropped(ops.size());
    for (size_t i = 0; i < ops.size(); ++i) {
      Op& op = ops[i];
      if (op.kind == OpKind::Rope)
        ropeOf[size_t(op.results[0])] = i;
      if (op.kind != OpKind::AttentionPaged)
        continue;
      const size_t q = ropeOf[size_t(op.operands[0])],
                   k = ropeOf[size_t(op.operands[1])];
      if (q == ops.size() || k == ops.size() || !isFusable(ops[q], op) ||
          !isFusable(ops[k], op) || ops[q].attributes != ops[k].attributes)
        continue;
      op.operands[0] = ops[q].operands[0];
      op.operands[1] = ops[k].operands[0];
      for (const auto& [name, value] : ops[q].attributes)
        op.attributes[name] = value;
      op.attributes["rope"] = true;
      dropped[q] = dropped[k] = true;
    }
    size_t next = 0;
    std::erase_if(ops, [&](const Op&) { return dropped[next++]; });
  }

  bool isFusable(const Op& rope, const Op& attention) const {
    const ValueId rotated = rope.results[0];
    return rope.operands[1] == attention.operands[3] &&
           readers[size_t(rotated)] == 1 && rope.layer == attention.layer &&
           !ops::RopeAttributes(rope.attributes).inverse;
  }

  ir::Module& program;
  std::vector<int> readers; // by value
};

} // namespace

void fuseRope(ir::Module& program) {
  RopeFusion(program).run();
}

} // namespace recipec::passes
