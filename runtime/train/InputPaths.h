// Whether the files that a run reads are there, before anything is opened.

#ifndef RECIPERUN_TRAIN_INPUTPATHS_H
#define RECIPERUN_TRAIN_INPUTPATHS_H

#include "runtime/base/Status.h"
#include "runtime/plan/Plan.h"

namespace reciperun::train {

/// Fails for data or a tokenizer that cannot be read, with the recipe's field,
/// the system's reason, and the folder in which relative paths start. Weights
/// are looked for when no checkpoint has any; see `startOfRelative`.
/// Without `trains` the data to train on may be missing.
Status checkInputPaths(const plan::Plan& plan, bool trains);

/// `; relative paths of the plan start in ...`, where `setting` is written as a
/// relative path; empty otherwise.
std::string startOfRelative(const plan::Plan& plan, const std::string& setting);

} // namespace reciperun::train

#endif // RECIPERUN_TRAIN_INPUTPATHS_H
