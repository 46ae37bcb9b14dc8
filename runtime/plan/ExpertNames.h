// Hugging Face names of parameters that hold all experts.
//
// A Hugging Face checkpoint has one tensor per expert. `{expert}` in a
// parameter's `hfName` stands for the index in its dimension 0, and `hfShape`
// is the shape of one of the tensors.

#ifndef RECIPERUN_PLAN_EXPERTNAMES_H
#define RECIPERUN_PLAN_EXPERTNAMES_H

#include "runtime/plan/Plan.h"

#include <string_view>

namespace reciperun::plan {

inline constexpr std::string_view expertPlace = "{expert}";

/// Whether each expert of a parameter is a tensor of its own in the checkpoint.
inline bool isByExpert(const Parameter& parameter) {
  return parameter.hfName.find(expertPlace) != std::string::npos;
}

} // namespace reciperun::plan

#endif // RECIPERUN_PLAN_EXPERTNAMES_H
