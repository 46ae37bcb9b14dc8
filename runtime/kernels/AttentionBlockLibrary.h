// Blocks of a ring by cuDNN, whose results are then merged with those of the
// blocks before; AttentionBlockLibrary.cu has them.

#ifndef RECIPERUN_KERNELS_ATTENTIONBLOCKLIBRARY_H
#define RECIPERUN_KERNELS_ATTENTIONBLOCKLIBRARY_H

#include "runtime/device/cuda/CudaKernelTable.h"

#include <optional>

namespace reciperun::kernels {

/// The ops `attention_block` and `attention_block_backward`; none where cuDNN
/// does not serve or has not the room.
std::optional<Status> libraryBlockForward(const device::CudaKernelArgs& args);
std::optional<Status> libraryBlockBackward(const device::CudaKernelArgs& args);

} // namespace reciperun::kernels

#endif // RECIPERUN_KERNELS_ATTENTIONBLOCKLIBRARY_H
