// See CollectiveHalves.h.

#include "compiler/passes/distributed/CollectiveHalves.h"
#include "runtime/ops/OpKind.h"

#include <cassert>
#include <utility>

namespace recipec::passes {

using ir::Op;
using ir::OpKind;
using ir::ValueId;

namespace {

struct Kinds {
  OpKind start, done;
};

Kinds halvesOf(OpKind collective) {
  switch (collective) {
  case OpKind::AllGather:
    return {OpKind::AllGatherStart, OpKind::AllGatherDone};
  case OpKind::AllToAll:
    return {OpKind::AllToAllStart, OpKind::AllToAllDone};
  default:
    assert(collective == OpKind::ReduceScatter && "a collective with halves");
    return {OpKind::ReduceScatterStart, OpKind::ReduceScatterDone};
  }
}

} // namespace

Op CollectiveHalves::start(const Op& collective) {
  const bool isScatter = collective.kind == OpKind::ReduceScatter;
  ir::Value value =
      program[isScatter ? collective.operands[0] : collective.results[0]];
  value.kind = ir::ValueKind::temporary;
  value.name = names.make(program[collective.results[0]].name + ".start");
  Op op = collective;
  op.kind = halvesOf(collective.kind).start;
  op.name = value.name;
  op.operands = {collective.operands[0]};
  op.results = {ir::addValue(program, std::move(value))};
  underway[collective.results[0]] = op.results[0];
  return op;
}

Op CollectiveHalves::done(const Op& collective) const {
  Op op = collective;
  op.kind = halvesOf(collective.kind).done;
  op.operands = {underway.at(op.results[0]), op.operands[0]};
  return op;
}

} // namespace recipec::passes
