// The pass that adds the choice of the likeliest token to a model.

#ifndef RECIPEC_PASSES_INFERENCE_CHOOSELIKELIEST_H
#define RECIPEC_PASSES_INFERENCE_CHOOSELIKELIEST_H

#include "compiler/ir/Ir.h"

namespace recipec::passes {

/// Appends `argmax` of the Graph's logits to `forward`, bound as `likeliest`.
/// Sharding then gathers the logits of a split vocabulary before it.
void chooseLikeliest(ir::Module& graph);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_INFERENCE_CHOOSELIKELIEST_H
