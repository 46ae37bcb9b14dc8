// Sharding of the choice of tokens: it reads whole rows of logits.

#include "compiler/passes/shard/Sharder.h"
#include "runtime/ops/SamplingOps.h"

namespace recipec::passes {

using ir::AxisSet;
using ir::Op;

void Sharder::shardSampling(Op& op) {
  switch (ops::SamplingOp(op.kind)) {
  case ops::SamplingOp::Sample:
    sample(op);
    break;
  }
  out.push_back(std::move(op));
}

void Sharder::sample(Op& op) {
  std::vector<AxisSet> dims = ofRows(op.operands[0]);
  require(op, 0, dims);
  dims.pop_back();
  set(op.results[0], std::move(dims));
}

} // namespace recipec::passes
