// What a kernel of a GPU is and what it is given; the twin of KernelTable.h.
//
// A kernel enqueues its work on the context's stream and returns. It does not
// wait, takes no memory and reads no buffer on the host, so that a whole step
// can be captured as a CUDA graph.

#ifndef RECIPERUN_DEVICE_CUDA_CUDAKERNELTABLE_H
#define RECIPERUN_DEVICE_CUDA_CUDAKERNELTABLE_H

#include "runtime/device/Tensor.h"
#include "runtime/plan/Mesh.h"
#include "runtime/plan/Plan.h"
#include "runtime/plan/Status.h"

#include <span>
#include <string_view>

namespace reciperun::device {

class CudaContext;

/// One call of an op, as in KernelArgs; data are addresses of the device.
struct CudaKernelArgs {
  const plan::Op& op;
  std::span<const Tensor> inputs;
  std::span<const Tensor> outputs;
  Tensor workspace; // absent where the op needs none
  const plan::Mesh& mesh;
  int rank = 0;
  CudaContext& context;

  /// The rank's index along a mesh axis; 0 where the mesh has none so named.
  int64_t coordinate(std::string_view axis) const {
    return plan::coordinate(mesh, rank, axis);
  }
};

/// Enqueues an op. Fails where the device cannot do what the plan asks (a type
/// or size without a kernel) or the launch is refused; what goes wrong on the
/// device is told by a later call.
using CudaKernel = Status (*)(const CudaKernelArgs&);

} // namespace reciperun::device

#endif // RECIPERUN_DEVICE_CUDA_CUDAKERNELTABLE_H
