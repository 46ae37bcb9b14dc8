// Runs the layers of a model for one token as one GPU kernel.

#ifndef RECIPERUN_KERNELS_DECODE_DECODETOKEN_H
#define RECIPERUN_KERNELS_DECODE_DECODETOKEN_H

#include "runtime/device/cuda/CudaContext.h"
#include "runtime/kernels/decode/DecodeLayers.h"

namespace reciperun::kernels {

/// The number of ops, from the first one on, that runFusedCudaKernels runs as
/// one kernel: whole layers of a step of one token, on Hopper. 0 if there are
/// none.
size_t countFusedCudaKernels(std::span<const device::OpCall> calls,
                             const device::CudaContext& context);

/// Enqueues ops that countFusedCudaKernels has counted. Of their outputs, only
/// the last one and the pages are written.
Status runFusedCudaKernels(std::span<const device::OpCall> calls,
                           device::CudaContext& context);

} // namespace reciperun::kernels

#endif // RECIPERUN_KERNELS_DECODE_DECODETOKEN_H
