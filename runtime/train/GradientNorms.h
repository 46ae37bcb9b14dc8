// Norms of the gradients of parameter groups. They are the same in every
// layout.

#ifndef RECIPERUN_TRAIN_GRADIENTNORMS_H
#define RECIPERUN_TRAIN_GRADIENTNORMS_H

#include "runtime/comm/Communicator.h"
#include "runtime/exec/Executor.h"
#include "runtime/plan/Plan.h"
#include "runtime/train/metrics/StepRecord.h"

#include <string>
#include <vector>

namespace reciperun::train {

class GradientNorms {
public:
  /// `groups` is `layers`, with a group for each layer (`layers.3`) and for
  /// each module outside of the layers (`embed`), or `parameters`, with a group
  /// for each parameter.
  GradientNorms(const plan::Plan& plan, int rank, const std::string& groups);

  using Norm = GradientNorm;
  /// Returns the norms of the last step's global gradients, before clipping, in
  /// the order of the parameters. The squares add up to the square of the total
  /// gradient norm. Collective.
  Expected<std::vector<Norm>> measure(const exec::Executor& executor,
                                      comm::Communicator& communicator) const;

private:
  /// A range of elements that only this rank counts.
  struct Part {
    int group = 0;
    int buffer = -1;
    int64_t first = 0;
    int64_t count = 0;
  };
  Expected<double> squaresOf(const exec::Executor& executor,
                             const Part& part) const;

  std::vector<std::string> names; // of all groups, the same on every rank
  std::vector<Part> parts;
};

} // namespace reciperun::train

#endif // RECIPERUN_TRAIN_GRADIENTNORMS_H
