// Checks that the files that a run reads exist, before any is opened.

#ifndef RECIPERUN_TRAIN_INPUTPATHS_H
#define RECIPERUN_TRAIN_INPUTPATHS_H

#include "runtime/base/Status.h"
#include "runtime/plan/Plan.h"

namespace reciperun::train {

/// Fails when data or a tokenizer cannot be read. The message has the recipe's
/// field, the system's reason and the folder that relative paths start from.
/// `weights` is not checked here, because it is not needed when a checkpoint
/// exists. Unless `trains`, the training data may be missing.
Status checkInputPaths(const plan::Plan& plan, bool trains);

/// For an error message: when the path of `setting` is relative, returns `;
/// relative paths of the plan start in ...` and how to choose another folder.
/// Otherwise empty.
std::string startOfRelative(const plan::Plan& plan, const std::string& setting);

} // namespace reciperun::train

#endif // RECIPERUN_TRAIN_INPUTPATHS_H
