// How a parameter's first values are drawn.

#ifndef RECIPERUN_OPS_INITIALIZER_H
#define RECIPERUN_OPS_INITIALIZER_H

#include <string>

namespace reciperun::ops {

struct Initializer {
  /// `normal`, `uniform`, `zeros`, `ones`; `decay_rates` and `time_steps` of a
  /// state space layer: kernels/Initialize.h says what they draw.
  std::string kind;
  /// The standard deviation of `normal`, the bound of `uniform`.
  double scale = 0;
};

} // namespace reciperun::ops

#endif // RECIPERUN_OPS_INITIALIZER_H
