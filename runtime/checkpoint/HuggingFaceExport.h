// The trained model as a directory that transformers (and this runtime) load.

#ifndef RECIPERUN_CHECKPOINT_HUGGINGFACEEXPORT_H
#define RECIPERUN_CHECKPOINT_HUGGINGFACEEXPORT_H

#include "runtime/checkpoint/ExportDirectory.h"
#include "runtime/checkpoint/ParameterAccess.h"
#include "runtime/comm/Communicator.h"

#include <filesystem>
#include <functional>

namespace reciperun::checkpoint {

struct ExportOptions {
  /// Weights beyond this are split over several files.
  int64_t maxFileBytes = int64_t(5'000'000'000);
  /// Asked on rank 0 before each piece: a failure ends the export.
  std::function<Status()> goesOn = {};
};

/// Writes config.json, generation_config.json, the weights in the compute type,
/// the tokenizer's files, and generate.plan.json where the plan has one. With
/// LoRA the weights are merged, W + scale B A, and `adapter/` holds the adapter
/// alone in peft's layout.
///
/// Collective: rank 0 writes, the others send their shards one tensor and 1 MiB
/// at a time. The directory is written aside and takes its place whole; after a
/// failure, which every rank gets, it is as it was before. A weight that is not
/// finite is a failure.
Status exportHuggingFace(const plan::Plan& plan, const ParameterAccess& access,
                         comm::Communicator& communicator,
                         const std::filesystem::path& directory,
                         const ExportOptions& options = {});

/// Writes the adapter alone: adapter_config.json and its weights in peft's
/// layout. Fails where the plan has none; otherwise as exportHuggingFace.
Status exportAdapter(const plan::Plan& plan, const ParameterAccess& access,
                     comm::Communicator& communicator,
                     const std::filesystem::path& directory,
                     const ExportOptions& options = {});

} // namespace reciperun::checkpoint

#endif // RECIPERUN_CHECKPOINT_HUGGINGFACEEXPORT_H
