// The table from ops to the CPU's kernels, built from Ops.def.

#include "runtime/kernels/Kernels.h"

namespace reciperun::kernels {

using plan::OpKind;

// Every specialisation is defined in its op's file.
#define OP(Enumerator, name)                                                   \
  template <> Status kernel<OpKind::Enumerator>(const device::KernelArgs&);
#include "runtime/plan/Ops.def"

namespace {

template <OpKind kind> constexpr device::Kernel entry() {
  if constexpr (isCollective(kind))
    return nullptr;
  else
    return &kernel<kind>;
}

constexpr device::Kernel table[] = {
#define OP(Enumerator, name) entry<OpKind::Enumerator>(),
#include "runtime/plan/Ops.def"
};

} // namespace

device::Kernel findKernel(OpKind kind) {
  return table[size_t(kind)];
}

} // namespace reciperun::kernels
