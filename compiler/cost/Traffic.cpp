// By default operands and results count once each. The cases below are ops that
// do not touch all of an operand or result, or touch it more than once.

#include "compiler/cost/Traffic.h"

#include "runtime/ops/OpKind.h"
#include "runtime/ops/QuantizationOps.h"

namespace recipec::cost {
namespace {

/// The average bytes of a rank's part of a range of a sharded buffer.
double bytesOfPart(const ir::Module& program, const ir::Op& op) {
  const ops::ShardAmaxAttributes attributes(op.attributes);
  const double elements =
      double(attributes.count) / double(ir::sizeOf(program, op.group));
  int64_t bytes = ir::byteSize(program[op.operands[0]].type);
  if (op.kind == ir::OpKind::QuantizeShard)
    bytes += ir::byteSize(program[op.results[0]].type);
  return elements * double(bytes);
}

} // namespace

int valuesToQuantize(ir::OpKind kind) {
  switch (kind) {
  case ir::OpKind::Quantize:
    return 1;
  case ir::OpKind::SwigluQuantize:
    return 2;
  case ir::OpKind::SwigluBackwardQuantize:
    return 3;
  default:
    return 0;
  }
}

double trafficBytes(const ir::Module& program, const ir::Op& op,
                    const std::function<double(ir::ValueId)>& bytesOf) {
  if (op.kind == ir::OpKind::ShardAmax || op.kind == ir::OpKind::QuantizeShard)
    return bytesOfPart(program, op);
  // A rank reads only its shard of its own x, which has the size of the result.
  if (op.kind == ir::OpKind::ReduceScatterDone)
    return bytesOf(op.operands[0]) + 2 * bytesOf(op.results[0]);
  double bytes = 0;
  for (const auto* list : {&op.operands, &op.results})
    for (ir::ValueId value : *list)
      if (value != ir::ValueId::none)
        bytes += bytesOf(value);
  // A scale per tensor without an amax history needs a first pass over the
  // elements.
  const int read = valuesToQuantize(op.kind);
  if (!op.attributes.contains("blocks") && read > 0 &&
      op.operands[size_t(read)] == ir::ValueId::none)
    bytes += read * bytesOf(op.operands[0]);
  return bytes;
}

double trafficBytes(const ir::Module& program, const ir::Op& op) {
  return trafficBytes(program, op, [&](ir::ValueId value) {
    return double(ir::localBytes(program, value));
  });
}

double shiftedBytes(const ir::Module& program, const ir::Op& shift) {
  double bytes = 0;
  for (ir::ValueId sent : shift.operands)
    if (sent != ir::ValueId::none)
      bytes += double(ir::localBytes(program, sent));
  return bytes;
}

} // namespace recipec::cost
