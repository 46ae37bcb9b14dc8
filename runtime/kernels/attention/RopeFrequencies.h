// The frequencies of rotary positions, for the kernels of all devices.

#ifndef RECIPERUN_KERNELS_ATTENTION_ROPEFREQUENCIES_H
#define RECIPERUN_KERNELS_ATTENTION_ROPEFREQUENCIES_H

#include "runtime/plan/Op.h"

#include <cstdint>
#include <vector>

namespace reciperun::kernels {

/// The frequency of each of a rope op's `half` pairs, in radians per position.
std::vector<double> ropeFrequencies(const plan::Op& op, int64_t half);

} // namespace reciperun::kernels

#endif // RECIPERUN_KERNELS_ATTENTION_ROPEFREQUENCIES_H
