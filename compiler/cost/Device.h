// The figures of a device that a roofline needs.

#ifndef RECIPEC_COST_DEVICE_H
#define RECIPEC_COST_DEVICE_H

#include "compiler/ir/Ir.h"
#include "compiler/recipe/Recipe.h"

namespace recipec::cost {

struct Device {
  double flops = 0;         // FLOP/s in the compute type
  double narrowFlops = 0;   // of fp8 matmuls; 0 without fp8
  double bandwidth = 0;     // bytes/s
  double linkBandwidth = 0; // bytes/s, one way
  double hostBandwidth = 0; // bytes/s, one way

  /// FLOP/s in the type in which the op multiplies.
  double flopsFor(const ir::Op& op) const;
};

/// The recipe's hardware, for the Program's compute type.
Device deviceOf(const ir::Module& program, const recipe::Recipe& recipe);

} // namespace recipec::cost

#endif // RECIPEC_COST_DEVICE_H
