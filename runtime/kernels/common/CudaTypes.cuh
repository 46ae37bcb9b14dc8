// Selects the instance of a GPU kernel for a type in the plan: f32 or bf16,
// both computed in float. GPU kernels have no f64 instance, because f64 only
// serves gradient checks on the CPU.

#ifndef RECIPERUN_KERNELS_COMMON_CUDATYPES_CUH
#define RECIPERUN_KERNELS_COMMON_CUDATYPES_CUH

#include "runtime/device/KernelTable.h"
#include "runtime/device/cuda/CudaContext.h"
#include "runtime/device/cuda/CudaError.h"
#include "runtime/kernels/common/Vectors.cuh"
#include "runtime/ops/OpTable.h"

#include <algorithm>
#include <cassert>
#include <string>
#include <type_traits>

namespace reciperun::kernels {

template <class T> struct DeviceType { using Element = T; };

inline constexpr int64_t ceilDivide(int64_t count, int64_t by) {
  return (count + by - 1) / by;
}

inline bool isDeviceType(plan::DType type) {
  return type == plan::DType::f32 || type == plan::DType::bf16;
}

/// The error for an operand of another type.
inline Status noDeviceType(const device::CudaKernelArgs& args) {
  return Status::error(std::string("`") + ops::opName(args.op.kind) +
                       "` computes in f32 and bf16 on GPUs, and an operand is "
                       "of another type");
}

/// Calls body(DeviceType<T>()) for a type that the caller has checked.
template <class Body> auto withStoredType(plan::DType type, Body&& body) {
  assert(isDeviceType(type) && "the plan's types have been checked");
  if (type == plan::DType::bf16)
    return body(DeviceType<bfloat16>());
  return body(DeviceType<float>());
}

/// Calls body(DeviceType<T>()), which launches kernels, for the type `type`.
/// Returns the launch status, or the status that `body` returns.
template <class Body>
Status withDeviceType(const device::CudaKernelArgs& args, plan::DType type,
                      Body&& body) {
  if (!isDeviceType(type))
    return noDeviceType(args);
  if constexpr (std::is_void_v<decltype(body(DeviceType<float>()))>) {
    withStoredType(type, body);
    return device::launchStatus();
  } else {
    return withStoredType(type, body);
  }
}

} // namespace reciperun::kernels

#endif // RECIPERUN_KERNELS_COMMON_CUDATYPES_CUH
