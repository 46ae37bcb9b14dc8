// The verifier's rules for types and layouts; see Verify.h.
//
// 1. Attributes: the op's description has each of them, with the same type.
//    Only ops that refer to ranks have a group.
// 2. Operands and results agree in dimensions, sharding and partial sums. Only
//    ops that are linear in an operand accept a partial sum of it. Each op
//    family has its own file of rules.

#include "compiler/ir/Pieces.h"
#include "runtime/ops/OpTable.h"

#include <algorithm>
#include <iterator>

namespace recipec::ir {

namespace {

std::vector<std::string> findInAttributes(const Op& op) {
  std::vector<std::string> findings;
  for (const auto& [name, value] : op.attributes) {
    const ops::AttributeInfo* info = ops::findAttribute(op.kind, name);
    if (!info || info->isGroup)
      findings.push_back("the attribute `" + name + "` is unknown");
    else if (!ops::isOf(info->type, value))
      findings.push_back("the attribute `" + name + "` is no " +
                         ops::nameOf(info->type));
  }
  return findings;
}

/// Whether the ranks of a group communicate in the op, or share the shards of
/// its operand.
bool refersToGroup(OpKind kind) {
  const ops::OpInfo& info = ops::infoOf(kind);
  return info.traits.isCollective ||
         std::ranges::any_of(info.attributes, &ops::AttributeInfo::isGroup);
}

std::vector<std::string> findInFamily(const Module& module, const Op& op) {
  switch (ops::infoOf(op.kind).family) {
  case ops::OpFamily::activations:
    return findInActivations(module, op);
  case ops::OpFamily::attention:
    return findInAttention(module, op);
  case ops::OpFamily::collectives:
    return findInCollectives(module, op);
  case ops::OpFamily::dense:
    return findInDense(module, op);
  case ops::OpFamily::experts:
    return findInExperts(module, op);
  case ops::OpFamily::loss:
    return findInLoss(module, op);
  case ops::OpFamily::moves:
    return findInMoves(module, op);
  case ops::OpFamily::norms:
    return findInNorms(module, op);
  case ops::OpFamily::optimizer:
    return findInOptimizer(module, op);
  case ops::OpFamily::quantization:
    return findInQuantization(module, op);
  case ops::OpFamily::sampling:
    return findInSampling(module, op);
  case ops::OpFamily::stateSpace:
    return findInStateSpace(module, op);
  }
  return {"the op is of no known family"};
}

} // namespace

std::vector<std::string> findInOp(const Module& module, const Op& op) {
  std::vector<std::string> findings = findInAttributes(op);
  if (!op.group.empty() && !refersToGroup(op.kind))
    findings.push_back("an op of this kind has no group");
  std::ranges::move(findInFamily(module, op), std::back_inserter(findings));
  return findings;
}

} // namespace recipec::ir
