// One case for each op with a workspace.

#include "compiler/cost/Workspace.h"

#include "runtime/ops/OpKind.h"
#include "runtime/sizes/AttentionWorkspace.h"

namespace recipec::cost {

namespace {

namespace sizes = reciperun::sizes;

/// The sizes of an attention op whose queries are operand `first`, followed by
/// the keys.
sizes::AttentionSizes attentionSizes(const ir::Module& program,
                                     const ir::Op& op, size_t first) {
  return sizes::attentionSizes(ops::AttentionAttributes(op.attributes),
                               program[op.operands[first]].type,
                               ir::localShape(program, op.operands[first]),
                               ir::localShape(program, op.operands[first + 1]));
}

} // namespace

int64_t workspaceElements(const ir::Module& program, const ir::Op& op) {
  if (op.kind == ir::OpKind::AttentionBackward)
    return sizes::attentionWorkspace(attentionSizes(program, op, 2));
  if (op.kind == ir::OpKind::AttentionBlockBackward)
    return sizes::blockWorkspace(attentionSizes(program, op, 2));
  if (op.kind == ir::OpKind::AttentionPaged) {
    const auto k = ir::localShape(program, op.operands[1]);
    return sizes::pagedWorkspace({program[op.operands[1]].type,
                                  program[op.results[1]].type, k[1], k[2],
                                  k[3]});
  }
  // An expert's gradient is accumulated in f32 before it is added to a bf16
  // one.
  if (op.kind == ir::OpKind::ExpertLinearWgrad &&
      program[op.results[0]].type == ir::DType::bf16)
    return ir::localElements(program, op.results[0]) /
           ir::localShape(program, op.results[0])[0];
  return 0;
}

} // namespace recipec::cost
