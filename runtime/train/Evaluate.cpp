// Training::prepareEvaluation and evaluate, the parts of a training that
// `reciperun eval` uses. The arena is that of the training. Only the weights of
// a checkpoint are read, not the moments.

#include "runtime/train/InputPaths.h"
#include "runtime/train/Training.h"

namespace reciperun::train {

Status Training::prepareEvaluation(const std::string& wanted) {
  Status opened = checkInputPaths(plan, /*trains=*/false);
  if (opened.isOk())
    opened = sets.openValidation();
  RECIPERUN_TRY(communicator.agree(opened));
  RECIPERUN_TRY(sets.compare(communicator));
  sets.closeTokenizer();
  checkpoints.emplace(plan.checkpoint.directory);
  RECIPERUN_TRY(
      communicator.agree(isRoot() ? checkpoints->open() : Status::ok()));
  Expected<Start> found = findWeights(plan, communicator, *checkpoints, wanted);
  RECIPERUN_TRY(found);
  start = std::move(*found);
  evaluated = start.source ? start.source->path().string() : start.directory;
  RECIPERUN_TRY(communicator.agree(takeMemory()));
  RECIPERUN_TRY(prepareKernels());
  if (isRoot())
    progress.emplace(options.style, sets.valid->steps(), 0, plan.train);
  RECIPERUN_TRY(fillState());
  start.source.reset();
  return Status::ok();
}

Expected<Validation> Training::evaluate() {
  Expected<std::optional<Validation>> found = validate();
  RECIPERUN_TRY(found);
  if (!*found)
    return Status::error(
        "nothing in `data.valid` counts in the loss: its samples "
        "have no answer that fits `data.sequence`");
  return **found;
}

} // namespace reciperun::train
