// The table from ops to CPU kernels.

#include "runtime/kernels/common/Kernels.h"

#include "runtime/ops/OpKind.h"

namespace reciperun::kernels {

// Each op's file defines its kernel: `relu2Kernel` for the op `relu2`.
#define NO_KERNEL(Enumerator)
#define KERNEL(name) Status name##Kernel(const device::KernelArgs&);
#include "runtime/ops/Kernels.inc"
#undef NO_KERNEL
#undef KERNEL

namespace {

constexpr device::Kernel table[] = {
#define NO_KERNEL(Enumerator) nullptr,
#define KERNEL(name) name##Kernel,
#include "runtime/ops/Kernels.inc"
};
static_assert(std::size(table) == ops::opKinds);

} // namespace

device::Kernel findKernel(plan::OpKind kind) {
  return table[ops::indexOf(kind)];
}

} // namespace reciperun::kernels
