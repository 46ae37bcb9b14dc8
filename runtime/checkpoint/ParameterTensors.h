// The tensors of a Hugging Face checkpoint that a parameter is.
//
// Most are one. A parameter of all experts, [experts, ...], is one tensor for
// each expert there where `{expert}` stands in its name; several parameters are
// one where each has rows of it (plan/TensorRows.h).

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

/// The names of a parameter's tensors, by expert where it has several. Each is
/// of the parameter's plan::tensorShape.
std::vector<std::string> tensorNames(const plan::Parameter& parameter);

/// The part of a rank's shard that lies in one tensor.
struct TensorShard {
  std::string name;
  ShardLayout block;
  int64_t begin = 0; // elements of the rank's shard that lie before
};
std::vector<TensorShard> tensorParts(const plan::Parameter& parameter,
                                     const plan::Mesh& mesh, int rank);

/// Parameters in the order of their data in a file: where several are rows of
/// one tensor, they come one behind the other where the first of them stood.
std::vector<int> inFileOrder(const plan::Plan& plan,
                             const std::vector<int>& parameters);

/// The tensors that begin with a parameter's data in such a file; none where
/// its tensor begins with another's.
std::vector<TensorSpec> tensorSpecs(const plan::Parameter& parameter,
                                    std::string_view dtype);

} // namespace reciperun::checkpoint

#endif // RECIPERUN_CHECKPOINT_PARAMETERTENSORS_H
