// The pass that quantizes a server's weights.

#ifndef RECIPEC_PASSES_INFERENCE_QUANTIZEWEIGHTS_H
#define RECIPEC_PASSES_INFERENCE_QUANTIZEWEIGHTS_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/ir/Ir.h"
#include "compiler/recipe/Recipe.h"

namespace recipec::passes {

/// Stores matrices that only `linear` reads in the format of `serve.weights`
/// and turns their ops into `quantized_linear`. Does nothing for `"bf16"`,
/// which is the compute type. The router's matrix, which decides between
/// experts, and that of the logits stay in the compute type; the latter is
/// quantized with `serve.quantize_logits`. Embeddings, norms, biases, experts
/// and adapters stay, too, and what `serve.exclude_modules` names. In
/// `"int4_awq"` each matrix has factors of its inputs. Reports names that the
/// model does not have.
void quantizeWeights(ir::Module& program, const recipe::Recipe& recipe,
                     diag::Engine& engine);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_INFERENCE_QUANTIZEWEIGHTS_H
