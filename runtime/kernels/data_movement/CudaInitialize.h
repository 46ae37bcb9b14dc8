// First values of parameters on a GPU, where they would take a host minutes.

#ifndef RECIPERUN_KERNELS_DATA_MOVEMENT_CUDAINITIALIZE_H
#define RECIPERUN_KERNELS_DATA_MOVEMENT_CUDAINITIALIZE_H

#include "runtime/device/Device.h"
#include "runtime/device/cuda/CudaContext.h"

namespace reciperun::kernels {

/// Enqueues what Initialize.h does, from the same random bits. `zeros`, `ones`
/// and `uniform` are the host's to the bit. Of the others each logarithm, sine
/// and so on is rounded correctly, and a host's may be a unit in the last place
/// off, of which four follow one another: a value is within 8 units in its last
/// place as f32 of the host's (4 were seen in 4 million), and in bf16 nearly
/// always the same. False for other types than f32 and bf16.
Expected<bool> drawFirstValues(const device::FirstValues& wanted,
                               device::CudaContext& context);

} // namespace reciperun::kernels

#endif // RECIPERUN_KERNELS_DATA_MOVEMENT_CUDAINITIALIZE_H
