// Maps parameters to the tensors of a Hugging Face checkpoint.
//
// Usually a parameter is one tensor. A parameter of all experts, [experts,
// ...], is one tensor per expert when its name contains `{expert}`. Several
// parameters are one tensor when each is rows of it (plan/TensorRows.h).

#ifndef RECIPERUN_CHECKPOINT_PARAMETERTENSORS_H
#define RECIPERUN_CHECKPOINT_PARAMETERTENSORS_H

#include "runtime/checkpoint/Safetensors.h"
#include "runtime/checkpoint/ShardLayout.h"
#include "runtime/plan/Plan.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace reciperun::checkpoint {

/// The names of a parameter's tensors, by expert when it has several. Each has
/// the parameter's plan::tensorShape.
std::vector<std::string> tensorNames(const plan::Parameter& parameter);

/// The part of a rank's shard that is in one tensor.
struct TensorShard {
  std::string name;
  ShardLayout block;
  int64_t begin = 0; // elements of the rank's shard before this part
};
std::vector<TensorShard> tensorParts(const plan::Parameter& parameter,
                                     const plan::Mesh& mesh, int rank);

/// Sorts parameters by the order of their data in a file: parameters that are
/// rows of one tensor follow each other at the position of the first.
std::vector<int> inFileOrder(const plan::Plan& plan,
                             const std::vector<int>& parameters);

/// The tensors that begin with a parameter's data in a file; empty when its
/// tensor begins with another parameter's.
std::vector<TensorSpec> tensorSpecs(const plan::Parameter& parameter,
                                    std::string_view dtype);

} // namespace reciperun::checkpoint

#endif // RECIPERUN_CHECKPOINT_PARAMETERTENSORS_H
