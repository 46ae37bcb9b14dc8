// The verifier's rules for the choice of tokens; see Verify.h.

#include "compiler/ir/OpVerifier.h"
#include "runtime/ops/OpKind.h"

namespace recipec::ir {
namespace {

class SamplingVerifier : OpVerifier {
public:
  SamplingVerifier(const Module& module, const Op& op)
      : OpVerifier(module, op) {}

  std::vector<std::string> run() {
    expectWhole();
    const Pieces logits = pieces(op.operands[0]);
    expect(!logits.empty() && logits.back().split.empty(),
           "the vocabulary is split");
    expectPrefix(op.operands[0], op.results[0]);
    expectPrefix(op.operands[1], op.results[0]);
    return std::move(findings);
  }
};

} // namespace

std::vector<std::string> findInSampling(const Module& module, const Op& op) {
  return SamplingVerifier(module, op).run();
}

} // namespace recipec::ir
