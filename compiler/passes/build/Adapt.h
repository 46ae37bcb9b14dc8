// Adds the recipe's adapters to a Graph: LoRA (Hu et al. 2021).

#ifndef RECIPEC_PASSES_BUILD_ADAPT_H
#define RECIPEC_PASSES_BUILD_ADAPT_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/ir/Ir.h"
#include "compiler/recipe/Recipe.h"

namespace recipec::passes {

/// In a training rewrites each linear whose last name is in `adapter.targets`
/// to y = W x + alpha / rank * B A dropout(x) (equation 3 of the paper) and
/// freezes every other parameter. Without an adapter the module stays
/// unchanged. A target that matches no linear is an error that lists the
/// available names.
///
/// A server has no such adapter: the exported weights have it merged. With
/// `serve.adapters`, it applies to each token the adapter that the
/// input `adapters` names: A and B hold the matrices of all adapters. They are
/// in no checkpoint of the model.
void adapt(ir::Module& module, const recipe::Recipe& recipe,
           diag::Engine& engine);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_BUILD_ADAPT_H
