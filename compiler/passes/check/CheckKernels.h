// Checks for sizes that the hardware's kernels do not support.

#ifndef RECIPEC_PASSES_CHECK_CHECKKERNELS_H
#define RECIPEC_PASSES_CHECK_CHECKKERNELS_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/ir/Ir.h"
#include "compiler/recipe/Recipe.h"

namespace recipec::passes {

/// For a Graph that runs on GPUs: heads of attention, states, experts and norm
/// rows must stay within runtime/sizes/KernelLimits.h. Each dimension that
/// exceeds them is reported once, at the value that gives its size.
void checkKernels(const ir::Module& graph, const recipe::Recipe& recipe,
                  diag::Engine& engine);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_CHECK_CHECKKERNELS_H
