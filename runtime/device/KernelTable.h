// What a kernel is and what it is given: the seam between the executor, which
// knows addresses, and the kernels, which know arithmetic.
//
// A device offers one kernel for each op of runtime/ops that is not a
// collective (runtime/kernels/common/Kernels.h holds the CPU's table). A kernel
// has no state of its own: all that outlives a call is in the device's context.

#ifndef RECIPERUN_DEVICE_KERNELTABLE_H
#define RECIPERUN_DEVICE_KERNELTABLE_H

#include "runtime/device/Tensor.h"
#include "runtime/plan/Mesh.h"
#include "runtime/plan/Plan.h"
#include "runtime/plan/Status.h"

#include <span>
#include <string_view>

namespace reciperun::device {

class CpuContext;

/// One call of an op. Inputs and outputs are in the order of the description; a
/// view without data stands for an optional buffer that is absent.
struct KernelArgs {
  const plan::Op& op;
  std::span<const Tensor> inputs;
  std::span<const Tensor> outputs;
  Tensor workspace; // absent where the op needs none
  const plan::Mesh& mesh;
  int rank = 0;
  CpuContext& context;

  /// The rank's index along a mesh axis; 0 where the mesh has none so named.
  int64_t coordinate(std::string_view axis) const {
    return plan::coordinate(mesh, rank, axis);
  }
};

/// Runs an op to its end. Fails only where the device cannot do what the plan
/// asks (a type without a kernel, the GEMM library); a shape that contradicts
/// the description is a bug of the plan's maker and asserted.
using Kernel = Status (*)(const KernelArgs&);

} // namespace reciperun::device

#endif // RECIPERUN_DEVICE_KERNELTABLE_H
