// The frequencies of rotary positions, for the kernels of all devices.

#ifndef RECIPERUN_KERNELS_ATTENTION_ROPEFREQUENCIES_H
#define RECIPERUN_KERNELS_ATTENTION_ROPEFREQUENCIES_H

#include "runtime/plan/Plan.h"

#include <cstdint>
#include <vector>

namespace reciperun::kernels {

/// Radians a position, for each of the `half` pairs of a rope op.
std::vector<double> ropeFrequencies(const plan::Op& op, int64_t half);

} // namespace reciperun::kernels

#endif // RECIPERUN_KERNELS_ATTENTION_ROPEFREQUENCIES_H
