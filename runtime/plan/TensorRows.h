// Hugging Face tensors that hold several parameters.
//
// A Hugging Face checkpoint may store several parameters in one tensor. They
// are consecutive along its dimension 0, and their other dimensions equal the
// tensor's. Each of these parameters has the tensor's name and `hfRows`. Every
// other parameter is a tensor of its own, or one tensor per expert
// (ExpertNames.h).

#ifndef RECIPERUN_PLAN_TENSORROWS_H
#define RECIPERUN_PLAN_TENSORROWS_H

#include "runtime/base/Status.h"
#include "runtime/plan/Plan.h"

#include <vector>

namespace reciperun::plan {

/// The shape of the tensor that holds a parameter.
std::vector<int64_t> tensorShape(const Parameter& parameter);

/// The number of elements of that tensor before the parameter.
int64_t elementsBefore(const Parameter& parameter);

/// Checks that parameters and tensors match. Each row of a shared tensor
/// belongs to one parameter, and its parameters agree in the tensor's other
/// dimensions, in type and in being trained. Any other tensor is one parameter,
/// with a name that a file can hold. The error names the tensor or the
/// parameter.
Status checkTensorRows(const std::vector<Parameter>& parameters);

} // namespace reciperun::plan

#endif // RECIPERUN_PLAN_TENSORROWS_H
