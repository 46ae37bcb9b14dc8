// Recipe → Graph: the model's ops over whole tensors with named dimensions.

#ifndef RECIPEC_PASSES_BUILD_BUILD_H
#define RECIPEC_PASSES_BUILD_BUILD_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/ir/Ir.h"
#include "compiler/passes/build/RankMesh.h"
#include "compiler/recipe/Recipe.h"

namespace recipec::passes {

/// The sizes that the model does not define.
struct Extent {
  RankMesh mesh;
  int64_t batch = 1;    // samples of a micro-batch, over all ranks
  int64_t sequence = 1; // tokens of a sample
  bool loss = true;     // append the cross-entropy of a training task
};

/// The extent of training: the mesh of `parallel`, micro * dp samples of
/// `data.sequence` tokens.
Extent trainingExtent(const recipe::Recipe& recipe);

/// Builds the Graph: dimensions, inputs, parameters with their Hugging Face
/// names, and the function `forward`. Binds the inputs `tokens`, `labels`,
/// `weights`, `positions`, `segments`, `samples`, `loss_scale` (those that the
/// ops read) and the outputs `logits` and `loss`. Errors, in terms of the
/// user's model, go to `engine`; the module is whole when it has none.
ir::Module build(const recipe::Recipe& recipe, const Extent& extent,
                 diag::Engine& engine);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_BUILD_BUILD_H
