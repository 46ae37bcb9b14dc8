// Dumps the gradients of a step to a file, for comparison with other programs.

#ifndef RECIPERUN_CHECKPOINT_GRADIENTDUMP_H
#define RECIPERUN_CHECKPOINT_GRADIENTDUMP_H

#include "runtime/checkpoint/ParameterAccess.h"
#include "runtime/comm/Communicator.h"

#include <filesystem>

namespace reciperun::checkpoint {

/// Writes every trainable parameter's gradient from its buffer, reduced and
/// before clipping, to a safetensors file with the names and shapes of Hugging
/// Face (peft's for an adapter). Collective; rank 0 writes. The caller must
/// have gathered gradients that a sharded optimizer splits across ranks. Fails
/// with several pipeline stages.
Status dumpGradients(const plan::Plan& plan, const ParameterAccess& access,
                     comm::Communicator& communicator,
                     const std::filesystem::path& path);

} // namespace reciperun::checkpoint

#endif // RECIPERUN_CHECKPOINT_GRADIENTDUMP_H
