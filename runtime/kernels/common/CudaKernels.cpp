// The table from ops to GPU kernels.

#include "runtime/kernels/common/CudaKernels.h"

#include "runtime/ops/OpKind.h"

namespace reciperun::kernels {

// Each op's file defines its kernel: `relu2CudaKernel` for the op `relu2`.
#define NO_KERNEL(Enumerator)
#define KERNEL(name) Status name##CudaKernel(const device::CudaKernelArgs&);
#include "runtime/ops/Kernels.inc"
#undef NO_KERNEL
#undef KERNEL

namespace {

constexpr device::CudaKernel table[] = {
#define NO_KERNEL(Enumerator) nullptr,
#define KERNEL(name) name##CudaKernel,
#include "runtime/ops/Kernels.inc"
};
static_assert(std::size(table) == ops::opKinds);

} // namespace

device::CudaKernel findCudaKernel(plan::OpKind kind) {
  return table[ops::indexOf(kind)];
}

} // namespace reciperun::kernels
