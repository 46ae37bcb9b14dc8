// The buffers of a plan, made from a Program's placements.

#ifndef RECIPEC_EMIT_BUFFERS_H
#define RECIPEC_EMIT_BUFFERS_H

#include "compiler/ir/Ir.h"
#include "runtime/plan/Plan.h"

#include <vector>

namespace recipec::emit {

/// One buffer a placement, in the order of the placements.
struct Buffers {
  std::vector<reciperun::plan::Buffer> buffers;
  std::vector<int> numberOf; // of each value; -1 where it has no place

  int number(ir::ValueId value) const {
    return value == ir::ValueId::none ? -1 : numberOf[size_t(value)];
  }
};

/// Shapes are local. Scalars become [1], matrices of products [n, k], however
/// many dimensions the model gives them. The rank's part of a region moves with
/// its coordinate along the region's shard axis.
Buffers makeBuffers(const ir::Module& program);

} // namespace recipec::emit

#endif // RECIPEC_EMIT_BUFFERS_H
