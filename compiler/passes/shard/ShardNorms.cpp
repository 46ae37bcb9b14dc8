// Sharding of the operands of norms: the normalised dimension is not split.

#include "compiler/passes/shard/Sharder.h"
#include "runtime/ops/NormOps.h"

namespace recipec::passes {

using ir::AxisSet;
using ir::Op;

void Sharder::shardNorm(Op& op) {
  switch (ops::ForwardNormOp(op.kind)) {
  case ops::ForwardNormOp::RmsNorm:
  case ops::ForwardNormOp::LayerNorm:
    norm(op);
    break;
  }
  out.push_back(std::move(op));
}

void Sharder::norm(Op& op) {
  std::vector<AxisSet> dims = ofRows(op.operands[0]);
  require(op, 0, dims);
  set(op.results[0], dims);
  dims.pop_back();
  for (size_t i = 1; i < op.results.size(); ++i)
    set(op.results[i], dims);
}

} // namespace recipec::passes
