// Loads a LoRA adapter in peft's layout (adapter_config.json and
// adapter_model.safetensors), for a server that keeps several adapters in
// memory.

#ifndef RECIPERUN_CHECKPOINT_LORAADAPTER_H
#define RECIPERUN_CHECKPOINT_LORAADAPTER_H

#include "runtime/base/Status.h"
#include "runtime/checkpoint/ParameterAccess.h"
#include "runtime/plan/Plan.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <vector>

namespace reciperun::checkpoint {

/// A rank's part of an adapter, in the compute type. Rows and columns beyond
/// the adapter's own rank are zeros, and B is multiplied by alpha / rank.
struct LoraAdapter {
  /// The values of one adapter in a parameter of the plan.
  struct Matrix {
    int parameter = -1;
    std::vector<std::byte> values;
  };
  std::vector<Matrix> matrices;
};

/// Reads the rank's part of the adapter in `directory` for a server's plan.
/// Ops that the plan adapts but the adapter does not get zeros.
///
/// Fails, naming the file, the value and the remedy, when the directory is no
/// adapter, when it is of another kind than LoRA or changes more than the
/// plan's ops, when its rank is above the plan's, and when a tensor is missing,
/// has another shape or is not finite.
Expected<LoraAdapter> readLoraAdapter(const plan::Plan& plan, int rank,
                                      const std::filesystem::path& directory);

/// Writes the adapter to index `place`, below plan::Serving::adapters, of the
/// LoRA parameters.
Status placeLoraAdapter(const LoraAdapter& adapter, int64_t place,
                        ParameterAccess& access);

} // namespace reciperun::checkpoint

#endif // RECIPERUN_CHECKPOINT_LORAADAPTER_H
