// One case for each op with a workspace.

#include "compiler/cost/Workspace.h"

namespace recipec::cost {

int64_t workspaceElements(const ir::Module& program, const ir::Op& op) {
  // dk and dv of grouped heads are summed in f32.
  if (op.kind == ir::OpKind::AttentionBackward &&
      program.compute == ir::DType::bf16)
    return ir::localElements(program, op.results[1]) +
           ir::localElements(program, op.results[2]);
  return 0;
}

} // namespace recipec::cost
