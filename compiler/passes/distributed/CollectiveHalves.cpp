// See CollectiveHalves.h.

#include "compiler/passes/distributed/CollectiveHalves.h"
#include "runtime/ops/OpKind.h"

#include <cassert>
#include <utility>

namespace recipec::passes {

using ir::Op;
using ir::OpKind;
using ir::ValueId;

Op CollectiveHalves::start(const Op& collective) {
  bool isGather = collective.kind == OpKind::AllGather;
  assert((isGather || collective.kind == OpKind::ReduceScatter) &&
         "a collective that has halves");
  ir::Value value =
      program[isGather ? collective.results[0] : collective.operands[0]];
  value.kind = ir::ValueKind::temporary;
  value.name = names.make(program[collective.results[0]].name + ".start");
  Op op = collective;
  op.kind = isGather ? OpKind::AllGatherStart : OpKind::ReduceScatterStart;
  op.name = value.name;
  op.results = {ir::addValue(program, std::move(value))};
  underway[collective.results[0]] = op.results[0];
  return op;
}

Op CollectiveHalves::done(const Op& collective) const {
  Op op = collective;
  op.kind = collective.kind == OpKind::AllGather ? OpKind::AllGatherDone
                                                 : OpKind::ReduceScatterDone;
  op.operands = {underway.at(op.results[0]), op.operands[0]};
  return op;
}

} // namespace recipec::passes
