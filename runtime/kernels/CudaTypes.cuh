// How a type in the plan picks an instance of a GPU's kernel: f32 or bf16, both
// computed in float. f64 checks gradients on the CPU and has none.

#ifndef RECIPERUN_KERNELS_CUDATYPES_CUH
#define RECIPERUN_KERNELS_CUDATYPES_CUH

#include "runtime/device/cuda/CudaContext.h"
#include "runtime/device/cuda/CudaError.h"
#include "runtime/device/cuda/CudaKernelTable.h"
#include "runtime/kernels/Vectors.cuh"

#include <algorithm>
#include <cassert>
#include <string>

namespace reciperun::kernels {

template <class T> struct DeviceType { using Element = T; };

inline constexpr int64_t ceilDivide(int64_t count, int64_t by) {
  return (count + by - 1) / by;
}

/// Calls body(DeviceType<T>()), which launches kernels, for the type `type`;
/// tells of the launches.
template <class Body>
Status withDeviceType(const device::CudaKernelArgs& args, plan::DType type,
                      Body&& body) {
  if (type == plan::DType::f32)
    body(DeviceType<float>());
  else if (type == plan::DType::bf16)
    body(DeviceType<bfloat16>());
  else
    return Status::error(std::string("`") + plan::opName(args.op.kind) +
                         "` computes in f32 and bf16 on GPUs, and its operand "
                         "is of another type");
  return device::launchStatus();
}

/// The same for a type that numbers are stored in, once that has been checked.
template <class Body> void withStoredType(plan::DType type, Body&& body) {
  assert((type == plan::DType::f32 || type == plan::DType::bf16) &&
         "the plan's types have been checked");
  if (type == plan::DType::bf16)
    return body(DeviceType<bfloat16>());
  body(DeviceType<float>());
}

} // namespace reciperun::kernels

#endif // RECIPERUN_KERNELS_CUDATYPES_CUH
