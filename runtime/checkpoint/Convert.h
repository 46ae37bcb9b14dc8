// Converts models between storage forms: checkpoints, Hugging Face directories,
// peft's adapters.
//
// One process streams: it holds one piece of a tensor at a time, and both
// factors of an adapter that it merges. A weight that is not finite fails a
// conversion. A conversion that fails leaves no files.

#ifndef RECIPERUN_CHECKPOINT_CONVERT_H
#define RECIPERUN_CHECKPOINT_CONVERT_H

#include "runtime/base/Status.h"
#include "runtime/checkpoint/ExportDirectory.h"

#include <filesystem>
#include <functional>

namespace reciperun::checkpoint {

struct ConvertOptions {
  /// Called before each piece; a failure cancels the conversion.
  std::function<Status()> goesOn = {};
  Existing existing = Existing::replace;
};

enum class Form { checkpoint, huggingFace, adapter };

/// The form of the model at a path that can be converted: a checkpoint or a
/// Hugging Face directory.
Expected<Form> formOf(const std::filesystem::path& path);

/// Checks that writing `target` leaves `source` as it is: neither is the other
/// or lies in it, and no file of `source` is a link into `target`.
Status checkApart(const std::filesystem::path& source,
                  const std::filesystem::path& target);

/// Writes a checkpoint's weights, in the compute type of its run, as a Hugging
/// Face directory. An adapter is merged, and also written to `adapter/`.
Status checkpointToHuggingFace(const std::filesystem::path& checkpoint,
                               const std::filesystem::path& directory,
                               const ConvertOptions& options = {});

/// Whether a checkpoint is of a run that trained an adapter.
Expected<bool> hasAdapter(const std::filesystem::path& checkpoint);

/// Writes the adapter of a checkpoint in peft's layout.
Status checkpointToAdapter(const std::filesystem::path& checkpoint,
                           const std::filesystem::path& directory,
                           const ConvertOptions& options = {});

/// Writes the weights of a Hugging Face directory, in their stored types, as a
/// checkpoint that runs can start from (`weights`). Its parameters have the
/// names of the directory; it has no moments.
Status huggingFaceToCheckpoint(const std::filesystem::path& directory,
                               const std::filesystem::path& checkpoint,
                               const ConvertOptions& options = {});

} // namespace reciperun::checkpoint

#endif // RECIPERUN_CHECKPOINT_CONVERT_H
