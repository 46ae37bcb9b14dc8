// Checks the names of a model's tensors in Hugging Face checkpoints.

#ifndef RECIPEC_PASSES_CHECK_CHECKTENSORNAMES_H
#define RECIPEC_PASSES_CHECK_CHECKTENSORNAMES_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/ir/Ir.h"

namespace recipec::passes {

/// Checks that no two parameters of a Graph are the same tensor of a
/// checkpoint, except those that are rows of one. Reports the first pair.
void checkTensorNames(const ir::Module& graph, diag::Engine& engine);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_CHECK_CHECKTENSORNAMES_H
