// The table from ops to the CPU's kernels.

#include "runtime/kernels/common/Kernels.h"

#include "runtime/ops/OpKind.h"

namespace reciperun::kernels {

// A kernel is defined in its op's file: `relu2Kernel` of the op `relu2`.
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
  return table[size_t(kind)];
}

} // namespace reciperun::kernels
