// Ops of a Graph that put rows apart and together: their results have
// dimensions that the call names.

#include "compiler/passes/CallAttributes.h"
#include "compiler/passes/GraphBuilder.h"
#include "compiler/passes/InferDims.h"

namespace recipec::passes {

using ir::DimId;
using ir::OpKind;

bool GraphBuilder::nameDims(const recipe::Call& call, ir::Op& op) {
  switch (op.kind) {
  case OpKind::Narrow:
    return narrow(call, op);
  case OpKind::Concat:
    return concat(call, op);
  case OpKind::Broadcast:
    broadcast(call, op);
    return true;
  default:
    return true;
  }
}

std::string GraphBuilder::sized(DimId dim) const {
  return "`" + module[dim].name + "` = " + std::to_string(module[dim].size);
}

bool GraphBuilder::narrow(const recipe::Call& call, ir::Op& op) {
  const auto& mapping = std::get<recipe::DimsMapping>(at(call, "dims").data);
  std::vector<DimId> dims = module[op.operands[0]].dims;
  bool fits = mapping.from.size() == 1 && mapping.to.size() == 1 &&
              sameDim(module, dimOf(mapping.from[0]), dims.back());
  if (!fits) {
    engine.report(diag::Kind::ShapeMismatch, call.range,
                  "`narrow` takes some of the last dimension of its operand, "
                  "here " +
                      sized(dims.back()) + ", and its `dims` are " +
                      listed(dimsOf(mapping.from)) + " -> " +
                      listed(dimsOf(mapping.to)));
    return false;
  }
  DimId to = dimOf(mapping.to[0]);
  int64_t begin = std::get<int64_t>(at(call, "begin").data);
  if (begin < 0 || begin > module[dims.back()].size - module[to].size) {
    engine
        .report(diag::Kind::ShapeMismatch, call.range,
                "`narrow` takes " + sized(to) +
                    " from `begin` = " + std::to_string(begin) +
                    ", and the operand has " + sized(dims.back()))
        .label(module[to].range, sized(to))
        .label(module[dims.back()].range, sized(dims.back()));
    return false;
  }
  op.attributes["begin"] = begin;
  dims.back() = to;
  module[op.results[0]].dims = std::move(dims);
  return true;
}

bool GraphBuilder::concat(const recipe::Call& call, ir::Op& op) {
  std::vector<DimId> a = module[op.operands[0]].dims;
  const std::vector<DimId>& b = module[op.operands[1]].dims;
  bool fits = a.size() == b.size();
  for (size_t i = 0; fits && i + 1 < a.size(); ++i)
    fits = sameDim(module, a[i], b[i]);
  if (!fits) {
    engine.report(diag::Kind::ShapeMismatch, call.range,
                  "`concat` takes operands that differ in the last dimension "
                  "alone, and not " +
                      listed(a) + " and " + listed(b));
    return false;
  }
  DimId to = dimOf(std::get<recipe::DimValue>(at(call, "to").data).dim);
  if (module[to].size - module[a.back()].size != module[b.back()].size) {
    engine
        .report(diag::Kind::ShapeMismatch, call.range,
                "`concat` makes " + sized(to) + " of " + sized(a.back()) +
                    " and " + sized(b.back()))
        .label(module[to].range, sized(to));
    return false;
  }
  a.back() = to;
  module[op.results[0]].dims = std::move(a);
  return true;
}

void GraphBuilder::broadcast(const recipe::Call& call, ir::Op& op) {
  std::vector<DimId> dims = module[op.operands[0]].dims;
  dims.insert(dims.end() - 1,
              dimOf(std::get<recipe::DimValue>(at(call, "over").data).dim));
  module[op.results[0]].dims = std::move(dims);
}

} // namespace recipec::passes
