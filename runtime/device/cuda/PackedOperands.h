// The end of the context's scratch, which is not part of the matmul workspace:
// operands of a matmul can be packed there.

#ifndef RECIPERUN_DEVICE_CUDA_PACKEDOPERANDS_H
#define RECIPERUN_DEVICE_CUDA_PACKEDOPERANDS_H

#include "runtime/device/cuda/CudaContext.h"

#include <cstddef>

namespace reciperun::device {

/// Enough for adapters of rank 96 with 8192 features and 16384 tokens.
inline constexpr int64_t packedBytes = int64_t(4) << 20;

/// Returns the buffer, aligned to 256 bytes; contents are undefined. It belongs
/// to the kernels of one op.
inline std::byte* packedOperands(const CudaContext& context) {
  return context.scratch<std::byte>() + cudaScratchBytes - packedBytes;
}

} // namespace reciperun::device

#endif // RECIPERUN_DEVICE_CUDA_PACKEDOPERANDS_H
