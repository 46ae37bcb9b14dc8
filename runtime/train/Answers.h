// The recipe's prompts, answered by the model that the run has exported.

#ifndef RECIPERUN_TRAIN_ANSWERS_H
#define RECIPERUN_TRAIN_ANSWERS_H

#include "runtime/base/Status.h"
#include "runtime/plan/Plan.h"

namespace reciperun::train {

/// Answers `train.prompts` from the directory `export.hf`, as a user of it
/// would get them, and prints both. Does nothing without prompts.
Status answerPrompts(const plan::Plan& plan);

} // namespace reciperun::train

#endif // RECIPERUN_TRAIN_ANSWERS_H
