// Makes the buffers of a plan from a Program's placements.

#ifndef RECIPEC_EMIT_BUFFERS_H
#define RECIPEC_EMIT_BUFFERS_H

#include "compiler/ir/Ir.h"
#include "runtime/plan/Plan.h"

#include <vector>

namespace recipec::emit {

/// One buffer per placement, in the order of the placements.
struct Buffers {
  std::vector<reciperun::plan::Buffer> buffers;
  std::vector<int> numberOf; // by value; -1 without a placement

  int number(ir::ValueId value) const {
    return value == ir::ValueId::none ? -1 : numberOf[size_t(value)];
  }
};

/// Shapes are local. Scalars become [1]; matmul weights become [n, k] whatever
/// the number of their dimensions in the model. A rank's shard of a region gets
/// an offset that depends on its coordinate along the region's shard axis.
Buffers makeBuffers(const ir::Module& program);

} // namespace recipec::emit

#endif // RECIPEC_EMIT_BUFFERS_H
