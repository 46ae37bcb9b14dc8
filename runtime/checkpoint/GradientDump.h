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
/// writes. The caller has gathered what a sharded optimizer leaves to each rank
/// in parts. Refused where there are several pipeline stages.
Status dumpGradients(const plan::Plan& plan, const ParameterAccess& access,
                     comm::Communicator& communicator,
                     const std::filesystem::path& path);

} // namespace reciperun::checkpoint

#endif // RECIPERUN_CHECKPOINT_GRADIENTDUMP_H
