// The scratch memory that kernels take from the plan. The descriptions in
// runtime/ops state it for each op.

#ifndef RECIPEC_COST_WORKSPACE_H
#define RECIPEC_COST_WORKSPACE_H

#include "compiler/ir/Ir.h"

namespace recipec::cost {

/// f32 elements of the op's workspace on one rank; 0 when it needs none.
int64_t workspaceElements(const ir::Module& program, const ir::Op& op);

} // namespace recipec::cost

#endif // RECIPEC_COST_WORKSPACE_H
