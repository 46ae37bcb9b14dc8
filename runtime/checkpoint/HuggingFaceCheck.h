// Checks that a Hugging Face directory has the weights of a plan's model. It
// only reads headers; `recipec check` runs the same check as the run.

#ifndef RECIPERUN_CHECKPOINT_HUGGINGFACECHECK_H
#define RECIPERUN_CHECKPOINT_HUGGINGFACECHECK_H

#include "runtime/checkpoint/ModelFiles.h"
#include "runtime/plan/Plan.h"

#include <filesystem>
#include <string>

namespace reciperun::checkpoint {

/// Opens the directory's files. Fails when config.json and the plan disagree
/// and when checkTensors() fails.
Expected<ModelFiles> openHuggingFace(const plan::Plan& plan,
                                     const std::filesystem::path& directory);

/// Fails when openHuggingFace() does.
Status checkHuggingFace(const plan::Plan& plan,
                        const std::filesystem::path& directory);

/// The first fault that checkTensors() found.
struct TensorFault {
  /// furtherTokens: the files lack what predicts further tokens alone.
  enum class Kind { none, quantization, furtherTokens, names, shapes };
  Kind kind = Kind::none;
  Status status;
  /// The prefix of all names in the files, such as `_orig_mod.` of
  /// torch.compile; empty when the names differ in another way.
  std::string prefix = {};
};
TensorFault findTensorFault(const plan::Plan& plan, const ModelFiles& model);

/// Fails when tensors are missing, have another shape or are not floats, and
/// when there are tensors that are not in the model (see isIgnorableTensor).
Status checkTensors(const plan::Plan& plan, const ModelFiles& model);

/// Whether a tensor of a directory is redundant for the model; `config` is the
/// text of the model's config.json.
bool isIgnorableTensor(const std::string& name, const std::string& config);

/// Whether a tensor belongs to a module that predicts further tokens: its layer
/// is behind the model's last one. Such a module has copies of the embedding
/// and of the head, and a model may be read without it.
bool isOfFurtherTokens(const std::string& name, const std::string& config);

} // namespace reciperun::checkpoint

#endif // RECIPERUN_CHECKPOINT_HUGGINGFACECHECK_H
