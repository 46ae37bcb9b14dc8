// Models between the forms in which they are stored: checkpoints, Hugging Face
// directories, peft's adapters.
//
// One process streams: it holds a piece of a tensor at a time, and of an
// adapter that is merged its two factors. A weight that is not finite ends a
// conversion; whatever ends one, nothing is left of it.

#ifndef RECIPERUN_CHECKPOINT_CONVERT_H
#define RECIPERUN_CHECKPOINT_CONVERT_H

#include "runtime/base/Status.h"

#include <filesystem>
#include <functional>

namespace reciperun::checkpoint {

/// Asked before each piece; a failure ends the conversion.
using GoesOn = std::function<Status()>;

enum class Form { checkpoint, huggingFace, adapter };

/// What is stored at a path, of the forms that can be converted: a checkpoint
/// or a Hugging Face directory.
Expected<Form> formOf(const std::filesystem::path& path);

/// Writes a checkpoint's weights, in the compute type of its run, as a Hugging
/// Face directory; an adapter is merged, and beside it in `adapter/`.
Status checkpointToHuggingFace(const std::filesystem::path& checkpoint,
                               const std::filesystem::path& directory,
                               const GoesOn& goesOn = {});

/// Writes the adapter of a checkpoint in peft's layout.
Status checkpointToAdapter(const std::filesystem::path& checkpoint,
                           const std::filesystem::path& directory,
                           const GoesOn& goesOn = {});

/// Writes the weights of a Hugging Face directory, as they are stored there, as
/// a checkpoint that runs can start from (`weights`). It knows the parameters
/// by the names of the directory, and holds no moments.
Status huggingFaceToCheckpoint(const std::filesystem::path& directory,
                               const std::filesystem::path& checkpoint,
                               const GoesOn& goesOn = {});

} // namespace reciperun::checkpoint

#endif // RECIPERUN_CHECKPOINT_CONVERT_H
