// The table from ops to the GPU's kernels, built from CudaKernels.def.

#include "runtime/kernels/CudaKernels.h"

#include <array>
#include <cstddef>

namespace reciperun::kernels {

using plan::OpKind;

// Every specialisation is defined in its op's file.
#define CUDA_KERNEL(Enumerator)                                                \
  template <>                                                                  \
  Status cudaKernel<OpKind::Enumerator>(const device::CudaKernelArgs&);
#include "runtime/kernels/CudaKernels.def"

namespace {

constexpr size_t opCount = 0
#define OP(Enumerator, name) +1
#include "runtime/plan/Ops.def"
    ;

constexpr auto table = [] {
  std::array<device::CudaKernel, opCount> kernels = {};
#define CUDA_KERNEL(Enumerator)                                                \
  kernels[size_t(OpKind::Enumerator)] = &cudaKernel<OpKind::Enumerator>;
#include "runtime/kernels/CudaKernels.def"
  return kernels;
}();

} // namespace

device::CudaKernel findCudaKernel(OpKind kind) {
  return table[size_t(kind)];
}

} // namespace reciperun::kernels
