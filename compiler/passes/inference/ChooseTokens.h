// The pass that adds the choice of the next tokens to a model.

#ifndef RECIPEC_PASSES_INFERENCE_CHOOSETOKENS_H
#define RECIPEC_PASSES_INFERENCE_CHOOSETOKENS_H

#include "compiler/ir/Ir.h"

namespace recipec::passes {

/// Appends `sample` of the Graph's logits to `forward`, bound as `chosen`. It
/// reads an input that is bound as `draws`. Sharding then gathers the logits of
/// a split vocabulary before it.
void chooseTokens(ir::Module& graph);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_INFERENCE_CHOOSETOKENS_H
