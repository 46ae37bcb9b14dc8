// The gradients of a step as a file, for comparison with other programs.

#ifndef RECIPERUN_CHECKPOINT_GRADIENTDUMP_H
#define RECIPERUN_CHECKPOINT_GRADIENTDUMP_H

#include "runtime/checkpoint/ParameterAccess.h"
#include "runtime/comm/Communicator.h"

#include <filesystem>

namespace reciperun::checkpoint {

/// Writes every trainable parameter's gradient as the step left it in its
/// buffer, reduced and before clipping, to a safetensors file with the names
/// and shapes of Hugging Face (peft's for an adapter). Collective; rank 0
/// writes. Refused where several data-parallel ranks share the work, since a
/// sharded optimizer leaves each of them with its own part only.
Status dumpGradients(const plan::Plan& plan, const ParameterAccess& access,
                     comm::Communicator& communicator,
                     const std::filesystem::path& path);

} // namespace reciperun::checkpoint

#endif // RECIPERUN_CHECKPOINT_GRADIENTDUMP_H
