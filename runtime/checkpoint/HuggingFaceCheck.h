// Whether a Hugging Face directory holds the weights of a plan's model. Headers
// are read, and no value: `recipec check` asks the same as the run.

#ifndef RECIPERUN_CHECKPOINT_HUGGINGFACECHECK_H
#define RECIPERUN_CHECKPOINT_HUGGINGFACECHECK_H

#include "runtime/checkpoint/ModelFiles.h"
#include "runtime/plan/Plan.h"

#include <filesystem>
#include <string>

namespace reciperun::checkpoint {

/// Opens the directory's files. Fails where config.json and the plan disagree
/// and where checkTensors() does.
Expected<ModelFiles> openHuggingFace(const plan::Plan& plan,
                                     const std::filesystem::path& directory);

/// Fails where openHuggingFace() does.
Status checkHuggingFace(const plan::Plan& plan,
                        const std::filesystem::path& directory);

/// Fails when tensors are missing, have another shape or are no floats, and
/// when there are tensors that the model has no place for (see
/// isIgnorableTensor).
Status checkTensors(const plan::Plan& plan, const ModelFiles& model);

/// Whether a tensor of such a directory holds nothing that the model does not
/// know already; `config` is the text of the model's config.json.
bool isIgnorableTensor(const std::string& name, const std::string& config);

} // namespace reciperun::checkpoint

#endif // RECIPERUN_CHECKPOINT_HUGGINGFACECHECK_H
