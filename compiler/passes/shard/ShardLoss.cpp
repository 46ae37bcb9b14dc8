// Sharding of the operands of the loss: the vocabulary over tp.

#include "compiler/passes/shard/Sharder.h"
#include "runtime/ops/LossOps.h"
#include "runtime/ops/OpKind.h"

namespace recipec::passes {

using ir::AxisSet;
using ir::Op;
using ir::OpKind;
using ir::ValueId;

void Sharder::shardLoss(Op& op) {
  switch (ops::ForwardLossOp(op.kind)) {
  case ops::ForwardLossOp::SoftmaxMax:
    return softmaxMax(op);
  case ops::ForwardLossOp::SoftmaxSum:
    softmaxSum(op);
    break;
  case ops::ForwardLossOp::Nll:
    nll(op);
    break;
  }
  out.push_back(std::move(op));
}

// ---- loss

void Sharder::softmaxMax(Op& op) {
  std::vector<AxisSet> logits = layoutOf(op.operands[0]);
  require(op, 0, logits);
  AxisSet vocabulary = logits.back();
  logits.pop_back();
  ValueId result = op.results[0];
  set(result, std::move(logits));
  out.push_back(op);
  if (vocabulary.empty())
    return;
  ValueId all = collective(OpKind::AllReduce, result, vocabulary, -1,
                           {op.layer, op.layer});
  out.back().attributes["reduce"] = std::string("max");
  forms[size_t(result)] = {all};
}

void Sharder::softmaxSum(Op& op) {
  std::vector<AxisSet> logits = layoutOf(op.operands[0]);
  require(op, 0, logits);
  AxisSet vocabulary = logits.back();
  logits.pop_back();
  require(op, 1, logits);
  require(op, 2, logits);
  op.group = vocabulary;
  logits.emplace_back();
  set(op.results[0], std::move(logits), vocabulary);
}

void Sharder::nll(Op& op) {
  std::vector<AxisSet> dims = shardingOf(op.operands[0]).dims;
  std::vector<AxisSet> stats = dims;
  stats.emplace_back();
  op.operands[0] = forms[size_t(op.operands[0])].front();
  require(op, 1, std::move(stats));
  require(op, 2, dims);
  set(op.results[0], {}, splitOf(dims));
}

} // namespace recipec::passes
