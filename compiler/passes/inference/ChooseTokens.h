// Adds the sampling of the next tokens to a model.

#ifndef RECIPEC_PASSES_INFERENCE_CHOOSETOKENS_H
#define RECIPEC_PASSES_INFERENCE_CHOOSETOKENS_H

#include "compiler/ir/Ir.h"

namespace recipec::passes {

/// Appends `sample` of the Graph's logits to `forward`, and binds its result as
/// `chosen`. `sample` also reads an input that is bound as `draws`. Where the
/// vocabulary is split, the sharding pass all-gathers the logits before it.
void chooseTokens(ir::Module& graph);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_INFERENCE_CHOOSETOKENS_H
