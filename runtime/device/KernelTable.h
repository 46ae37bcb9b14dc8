// The signature of a CPU kernel: the interface between the executor, which
// knows addresses, and the kernels, which know arithmetic.
//
// A device offers one kernel for each op of runtime/ops that is not a
// collective (runtime/kernels/common/Kernels.h holds the CPU's table,
// CudaKernels.h that of GPUs). A kernel has no state of its own: all that
// outlives a call is in the device's context.

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

/// One call of an op on a device, whose `Context` it is. Inputs and outputs are
/// in the order of the description; a view without data stands for an optional
/// buffer that is absent.
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

/// Runs an op to its end. Fails only where the device cannot do what the plan
/// asks (a type without a kernel, the GEMM library); a shape that contradicts
/// the description is a bug of the plan's maker and asserted.
using Kernel = Status (*)(const KernelArgs&);

/// Enqueues an op on the context's stream and returns: it does not wait, takes
/// no memory and reads no buffer on the host, so that a whole step can be
/// captured as a CUDA graph. Fails where the device cannot do what the plan
/// asks (a type or size without a kernel) or the launch is refused; what goes
/// wrong on the device is told by a later call.
using CudaKernel = Status (*)(const CudaKernelArgs&);

} // namespace reciperun::device

#endif // RECIPERUN_DEVICE_KERNELTABLE_H
