// Memory traffic of an op: the bytes that it reads and writes.

#ifndef RECIPEC_COST_TRAFFIC_H
#define RECIPEC_COST_TRAFFIC_H

#include "compiler/ir/Ir.h"

#include <functional>

namespace recipec::cost {

/// The number of equal-sized operands that an op reads to quantize. The amax
/// history follows them.
int valuesToQuantize(ir::OpKind kind);

/// The bytes that an op reads and writes on one rank. `bytesOf` returns the
/// bytes of a value.
double trafficBytes(const ir::Module& program, const ir::Op& op,
                    const std::function<double(ir::ValueId)>& bytesOf);

/// The same, counting all bytes of each value.
double trafficBytes(const ir::Module& program, const ir::Op& op);

/// The bytes that a rank sends to the next one in a shift.
double shiftedBytes(const ir::Module& program, const ir::Op& shift);

} // namespace recipec::cost

#endif // RECIPEC_COST_TRAFFIC_H
