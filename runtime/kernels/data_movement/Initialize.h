// Initial values of parameters, identical on every layout.

#ifndef RECIPERUN_KERNELS_DATA_MOVEMENT_INITIALIZE_H
#define RECIPERUN_KERNELS_DATA_MOVEMENT_INITIALIZE_H

#include "runtime/device/Tensor.h"
#include "runtime/plan/Mesh.h"
#include "runtime/plan/Plan.h"

#include <cstdint>

namespace reciperun::kernels {

/// Fills `values` (f32, f64 or bf16, flat) with a parameter's initial values:
/// element i is element `first + i` of the rank's shard, row-major. A caller
/// that keeps only a part of the shard (a sharded master copy) asks for that
/// part; the whole shard is first = 0.
///
/// `normal` is scale * N(0, 1) by Box-Muller, `uniform` U(-scale, scale). Two
/// kinds initialize a state space layer (Dao and Gu 2024, their Mamba2 module):
/// `decay_rates` are log U(1, 16), where A is minus the exponential of the
/// parameter, and `time_steps` are the numbers whose softplus is exp U(log
/// 0.001, log 0.1).
///
/// All are drawn in float from Philox4x32-10. The key depends on the seed and
/// the parameter's name, and the counter is the element's global index. The
/// mesh does not change a value, and the type changes it only by rounding.
void initialize(const plan::Parameter& parameter, int64_t seed,
                const plan::Mesh& mesh, int rank, int64_t first,
                device::Tensor values, int threads);

} // namespace reciperun::kernels

#endif // RECIPERUN_KERNELS_DATA_MOVEMENT_INITIALIZE_H
