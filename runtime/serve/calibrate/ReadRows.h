// Reads rows of a buffer as floats.

#ifndef RECIPERUN_SERVE_CALIBRATE_READROWS_H
#define RECIPERUN_SERVE_CALIBRATE_READROWS_H

#include "runtime/base/Status.h"
#include "runtime/device/Device.h"

#include <cstdint>
#include <vector>

namespace reciperun::serve {

/// Reads `count` rows of `x` [..., channels] from row `first` on, and stores
/// them in `values`. Fails when a value is not finite.
Status readRows(device::Device& device, const device::Tensor& x,
                int64_t channels, int64_t first, int64_t count,
                std::vector<float>& values);

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_CALIBRATE_READROWS_H
