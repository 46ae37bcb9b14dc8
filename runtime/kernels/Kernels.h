// The CPU's kernels: one for each op of Ops.def that is not a collective.
//
// Each file of this folder holds one op, forward and backward. A kernel is a
// specialisation of `kernel<OpKind>`; the table of findKernel names them all
// through Ops.def, so that an op without a kernel fails the build.

#ifndef RECIPERUN_KERNELS_KERNELS_H
#define RECIPERUN_KERNELS_KERNELS_H

#include "runtime/device/KernelTable.h"

namespace reciperun::kernels {

/// Whether the op exchanges data among the ranks of its group: the executor
/// runs it, with the communicator.
constexpr bool isCollective(plan::OpKind kind) {
  switch (kind) {
  case plan::OpKind::AllReduce:
  case plan::OpKind::AllGather:
  case plan::OpKind::AllGatherStart:
  case plan::OpKind::AllGatherDone:
  case plan::OpKind::ReduceScatter:
  case plan::OpKind::ReduceScatterStart:
  case plan::OpKind::ReduceScatterDone:
  case plan::OpKind::AllToAll:
  case plan::OpKind::RingAttention:
  case plan::OpKind::RingAttentionBackward:
    return true;
  default:
    return false;
  }
}

template <plan::OpKind kind> Status kernel(const device::KernelArgs& args);

/// The CPU's kernel of an op; null for a collective.
device::Kernel findKernel(plan::OpKind kind);

} // namespace reciperun::kernels

#endif // RECIPERUN_KERNELS_KERNELS_H
