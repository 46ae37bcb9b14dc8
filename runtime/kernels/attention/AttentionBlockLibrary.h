// Ring attention blocks by cuDNN. AttentionBlockLibrary.cu merges each block's
// result into that of the blocks before.
//
// Other kernels do not use these parts of the ops:
//   - `step` and `axis` state whether the keys are the rank's own or those of
//     an earlier or later rank, where each rank has an early and a late piece
//     of each row (plan::Inputs);
//   - the rooms are uninitialised tensors of T, absent when T is f32;
//   - the backward has a workspace (sizes/AttentionWorkspace.h).

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
