// Blocks of a ring by cuDNN, whose results are then merged with those of the
// blocks before; AttentionBlockLibrary.cu has them.
//
// Beside the descriptions of the ops, the executor tells where in the ring a
// block is, and gives it room, which other kernels have no use for:
//   - attr `keys`: "own", "earlier" or "later", whose keys they are, where each
//     rank has an early and a late piece of each row (plan::Inputs);
//   - outputs behind the sums: tensors of T like out, or like dq, dk and dv,
//     that hold nothing yet; absent where T is f32;
//   - sums of the backward that hold zeros: those of a block's keys, and where
//     `is_first` is set, those of the queries, too;
//   - workspace of the backward: plan/RingWorkspace.h.

#ifndef RECIPERUN_KERNELS_ATTENTION_ATTENTIONBLOCKLIBRARY_H
#define RECIPERUN_KERNELS_ATTENTION_ATTENTIONBLOCKLIBRARY_H

#include "runtime/device/KernelTable.h"

#include <optional>

namespace reciperun::kernels {

/// The ops `attention_block` and `attention_block_backward`; none where cuDNN
/// does not serve or has not the room.
std::optional<Status> libraryBlockForward(const device::CudaKernelArgs& args);
std::optional<Status> libraryBlockBackward(const device::CudaKernelArgs& args);

} // namespace reciperun::kernels

#endif // RECIPERUN_KERNELS_ATTENTION_ATTENTIONBLOCKLIBRARY_H
