// Quantizes the weights of a server.

#ifndef RECIPEC_PASSES_INFERENCE_QUANTIZEWEIGHTS_H
#define RECIPEC_PASSES_INFERENCE_QUANTIZEWEIGHTS_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/ir/Ir.h"
#include "compiler/recipe/Recipe.h"

namespace recipec::passes {

/// Stores the matrices that only `linear` reads in the format of
/// `serve.weights`, and turns those ops into `quantized_linear`. Does nothing
/// for `"bf16"`, which is the compute type. The router's matrix, which chooses
/// experts, stays in the compute type, and so does the matrix of the logits
/// unless `serve.quantize_logits` is set. Embeddings, norms, biases, experts,
/// adapters and the modules of `serve.exclude_modules` also stay. In
/// `"int4_awq"` each matrix has factors of its inputs. Reports names that the
/// model does not have.
void quantizeWeights(ir::Module& program, const recipe::Recipe& recipe,
                     diag::Engine& engine);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_INFERENCE_QUANTIZEWEIGHTS_H
