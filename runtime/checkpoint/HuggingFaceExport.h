// Exports the trained model as a directory that transformers (and this runtime)
// load.

#ifndef RECIPERUN_CHECKPOINT_HUGGINGFACEEXPORT_H
#define RECIPERUN_CHECKPOINT_HUGGINGFACEEXPORT_H

#include "runtime/checkpoint/ExportDirectory.h"
#include "runtime/checkpoint/ParameterAccess.h"
#include "runtime/comm/Communicator.h"

#include <filesystem>
#include <functional>

namespace reciperun::checkpoint {

struct ExportOptions {
  /// Splits larger weights over several files.
  int64_t maxFileBytes = int64_t(5'000'000'000);
  /// Called on rank 0 before each piece; a failure cancels the export.
  std::function<Status()> goesOn = {};
  Existing existing = Existing::replace;
};

/// Writes config.json, generation_config.json, the weights in the compute type,
/// the tokenizer's files, and generate.plan.json if the plan has one. With LoRA
/// the weights are merged, W + scale B A, and `adapter/` has the adapter in
/// peft's layout.
///
/// Collective: rank 0 writes; the others send their shards one tensor and 1 MiB
/// at a time. The directory is replaced atomically. A failure is returned on
/// every rank and leaves the directory unchanged. A weight that is not finite
/// is a failure.
Status exportHuggingFace(const plan::Plan& plan, const ParameterAccess& access,
                         comm::Communicator& communicator,
                         const std::filesystem::path& directory,
                         const ExportOptions& options = {});

/// Writes only the adapter: adapter_config.json and its weights in peft's
/// layout. Fails when the plan has none; otherwise like exportHuggingFace.
Status exportAdapter(const plan::Plan& plan, const ParameterAccess& access,
                     comm::Communicator& communicator,
                     const std::filesystem::path& directory,
                     const ExportOptions& options = {});

} // namespace reciperun::checkpoint

#endif // RECIPERUN_CHECKPOINT_HUGGINGFACEEXPORT_H
