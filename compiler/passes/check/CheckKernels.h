// Sizes of a model that the kernels of its hardware are not made for.

#ifndef RECIPEC_PASSES_CHECK_CHECKKERNELS_H
#define RECIPEC_PASSES_CHECK_CHECKKERNELS_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/ir/Ir.h"
#include "compiler/recipe/Recipe.h"

namespace recipec::passes {

/// Of a Graph that is to run on GPUs: heads of attention, states, experts and
/// rows of norms stay within runtime/sizes/KernelLimits.h. Each dimension that
/// does not is reported once, at the value that gives its size.
void checkKernels(const ir::Module& graph, const recipe::Recipe& recipe,
                  diag::Engine& engine);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_CHECK_CHECKKERNELS_H
