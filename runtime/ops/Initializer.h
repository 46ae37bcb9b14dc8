// The distribution of a parameter's initial values.

#ifndef RECIPERUN_OPS_INITIALIZER_H
#define RECIPERUN_OPS_INITIALIZER_H

#include <string>

namespace reciperun::ops {

struct Initializer {
  /// `normal`, `uniform`, `zeros` or `ones`; for state space layers
  /// `decay_rates` or `time_steps`. kernels/Initialize.h defines the
  /// distributions.
  std::string kind;
  /// The standard deviation of `normal`, the bound of `uniform`.
  double scale = 0;
};

} // namespace reciperun::ops

#endif // RECIPERUN_OPS_INITIALIZER_H
