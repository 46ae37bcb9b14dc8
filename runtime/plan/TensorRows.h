// Tensors elsewhere of which several parameters are the rows.
//
// A Hugging Face checkpoint may hold in one tensor what is several parameters
// here: they lie one behind the other along its dimension 0, and their other
// dimensions are its own. Each of them bears its name and has `hfRows`; every
// other parameter is a tensor by itself, or one for each expert
// (ExpertNames.h).

#ifndef RECIPERUN_PLAN_TENSORROWS_H
#define RECIPERUN_PLAN_TENSORROWS_H

#include "runtime/base/Status.h"
#include "runtime/plan/Plan.h"

#include <vector>

namespace reciperun::plan {

/// The shape of the tensor that a parameter is, or is rows of.
std::vector<int64_t> tensorShape(const Parameter& parameter);

/// The elements of that tensor that lie before the parameter.
int64_t elementsBefore(const Parameter& parameter);

/// Whether parameters and tensors match: each row of such a tensor belongs to
/// one parameter, and all of these are alike in what else a tensor has, in type
/// and in being trained; any other tensor is one parameter, and its name one
/// that a file can hold. The error names the tensor or the parameter.
Status checkTensorRows(const std::vector<Parameter>& parameters);

} // namespace reciperun::plan

#endif // RECIPERUN_PLAN_TENSORROWS_H
