// Ring attention blocks by cuDNN. AttentionBlockLibrary.cu merges each block's
// result into that of the blocks before.
//
// In addition to the operands of the op descriptions, the executor passes the
// block's position in the ring and buffers that other kernels do not use:
//   - attr `keys`: "own", "earlier" or "later", the owner of the keys, where
//     each rank has an early and a late piece of each row (plan::Inputs);
//   - outputs after the sums: uninitialised tensors of T like out, or like dq,
//     dk and dv; absent when T is f32;
//   - in the backward, zeroed sums for a block's keys and, if `is_first` is
//     set, for the queries;
//   - in the backward, a workspace: plan/RingWorkspace.h.

#ifndef RECIPERUN_KERNELS_ATTENTION_ATTENTIONBLOCKLIBRARY_H
#define RECIPERUN_KERNELS_ATTENTION_ATTENTIONBLOCKLIBRARY_H

#include "runtime/device/KernelTable.h"

#include <optional>

namespace reciperun::kernels {

/// The ops `attention_block` and `attention_block_backward`. nullopt when cuDNN
/// does not support the block or lacks workspace.
std::optional<Status> libraryBlockForward(const device::CudaKernelArgs& args);
std::optional<Status> libraryBlockBackward(const device::CudaKernelArgs& args);

} // namespace reciperun::kernels

#endif // RECIPERUN_KERNELS_ATTENTION_ATTENTIONBLOCKLIBRARY_H
