// Norms of the gradients of groups of parameters, the same in every layout.

#ifndef RECIPERUN_TRAIN_GRADIENTNORMS_H
#define RECIPERUN_TRAIN_GRADIENTNORMS_H

#include "runtime/comm/Communicator.h"
#include "runtime/exec/Executor.h"
#include "runtime/plan/Plan.h"

#include <string>
#include <utility>
#include <vector>

namespace reciperun::train {

class GradientNorms {
public:
  /// `groups` is `layers`: a group for each layer (`layers.3`) and for each
  /// module beside them (`embed`); or `parameters`: a group for each.
  GradientNorms(const plan::Plan& plan, int rank, const std::string& groups);

  using Norm = std::pair<std::string, double>; // name and norm
  /// The norms of the whole gradients behind the step that was run last, before
  /// clipping, in the order of the parameters. Their squares add up to that of
  /// the whole gradient's norm. Collective.
  Expected<std::vector<Norm>> measure(const exec::Executor& executor,
                                      comm::Communicator& communicator) const;

private:
  /// A run of elements that this rank counts, and no other.
  struct Part {
    int group = 0;
    int buffer = -1;
    int64_t first = 0;
    int64_t count = 0;
  };
  Expected<double> squaresOf(const exec::Executor& executor,
                             const Part& part) const;

  std::vector<std::string> names; // of all groups, on every rank the same
  std::vector<Part> parts;
};

} // namespace reciperun::train

#endif // RECIPERUN_TRAIN_GRADIENTNORMS_H
