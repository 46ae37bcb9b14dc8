// The verifier's rules for the optimizer's ops; see Verify.h.

#include "compiler/ir/OpVerifier.h"
#include "runtime/ops/OptimizerOps.h"

namespace recipec::ir {

namespace {

class OptimizerVerifier : OpVerifier {
public:
  OptimizerVerifier(const Module& module, const Op& op)
      : OpVerifier(module, op) {}

  std::vector<std::string> run() {
    switch (ops::OptimizerOp(op.kind)) {
    case ops::OptimizerOp::SumSquares:
      break;
    case ops::OptimizerOp::AdamW:
      expectSame(op.operands[0], op.results[0]);
      for (size_t i = 1; i < op.results.size(); ++i)
        expectSame(op.results[0], op.results[i]);
      break;
    }
    return std::move(findings);
  }
};

} // namespace

std::vector<std::string> findInOptimizer(const Module& module, const Op& op) {
  return OptimizerVerifier(module, op).run();
}

} // namespace recipec::ir
