// The tensors of a Hugging Face checkpoint that a parameter is.
//
// Most are one. A parameter of all experts, [experts, ...], is one tensor for
// each expert there where `{expert}` stands in its name.

#ifndef RECIPERUN_CHECKPOINT_EXPERTTENSORS_H
#define RECIPERUN_CHECKPOINT_EXPERTTENSORS_H

#include "runtime/plan/Plan.h"

#include <cstdint>
#include <string>
#include <vector>

namespace reciperun::checkpoint {

/// The names of a parameter's tensors, by expert where it has several. Each is
/// of the parameter's `hfShape`.
std::vector<std::string> tensorNames(const plan::Parameter& parameter);

/// The part of a rank's shard that lies in one tensor.
struct TensorPart {
  std::string name;
  /// The tensor by itself: sizes and axes of the parameter's dimensions.
  plan::Parameter tensor;
  int64_t begin = 0; // elements of the rank's shard that lie before
};
std::vector<TensorPart> tensorParts(const plan::Parameter& parameter,
                                    const plan::Mesh& mesh, int rank);

} // namespace reciperun::checkpoint

#endif // RECIPERUN_CHECKPOINT_EXPERTTENSORS_H
