// Answers the recipe's prompts with the model that the run exported.

#ifndef RECIPERUN_TRAIN_ANSWERS_H
#define RECIPERUN_TRAIN_ANSWERS_H

#include "runtime/base/Status.h"
#include "runtime/plan/Plan.h"

namespace reciperun::train {

/// Answers `train.prompts` with the model in the directory `export.hf`, as
/// `reciperun generate` would, and prints prompts and answers. Does nothing
/// without prompts.
Status answerPrompts(const plan::Plan& plan);

} // namespace reciperun::train

#endif // RECIPERUN_TRAIN_ANSWERS_H
