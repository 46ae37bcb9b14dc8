// The signatures of CPU and GPU kernels: the interface between the executor,
// which resolves addresses, and the kernels, which compute.
//
// A device has one kernel for each op of runtime/ops that is not a collective.
// runtime/kernels/common/Kernels.h has the table of the CPU, CudaKernels.h that
// of GPUs. A kernel has no state of its own: all state that outlives a call is
// in the device's context.

#ifndef RECIPERUN_DEVICE_KERNELTABLE_H
#define RECIPERUN_DEVICE_KERNELTABLE_H

#include "runtime/base/Status.h"
#include "runtime/device/Tensor.h"
#include "runtime/plan/Mesh.h"
#include "runtime/plan/Op.h"

#include <span>
#include <string_view>

namespace reciperun::device {

class CpuContext;
class CudaContext;

/// One call of an op on the device with this context. Inputs and outputs are in
/// the order of the op's description; a view without data is an absent optional
/// buffer.
template <class Context> struct KernelCall {
  const plan::Op& op;
  std::span<const Tensor> inputs;
  std::span<const Tensor> outputs;
  Tensor workspace; // absent when the op needs none
  const plan::Mesh& mesh;
  int rank = 0;
  Context& context;

  /// The rank's index along a mesh axis; 0 when the mesh has no such axis.
  int64_t coordinate(std::string_view axis) const {
    return plan::coordinate(mesh, rank, axis);
  }
};

using KernelArgs = KernelCall<CpuContext>;
using CudaKernelArgs = KernelCall<CudaContext>; // data on the device

/// Runs an op and returns when it is complete. Fails only when the device
/// cannot run it (a type without a kernel, a failure of the GEMM library).
/// Shapes that contradict the op's description are a bug of the compiler and
/// trigger an assertion.
using Kernel = Status (*)(const KernelArgs&);

/// Enqueues an op on the context's stream and returns. It does not wait,
/// allocate memory or read buffers on the host, so that a whole step can be
/// captured as a CUDA graph. Fails when the device cannot run the op (a type or
/// size without a kernel) or when the launch fails. A later call reports errors
/// of the execution.
using CudaKernel = Status (*)(const CudaKernelArgs&);

} // namespace reciperun::device

#endif // RECIPERUN_DEVICE_KERNELTABLE_H
