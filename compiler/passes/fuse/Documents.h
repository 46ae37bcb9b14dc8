// What attention on GPUs may leave out of account.

#ifndef RECIPEC_PASSES_FUSE_DOCUMENTS_H
#define RECIPEC_PASSES_FUSE_DOCUMENTS_H

#include "compiler/ir/Ir.h"
#include "compiler/recipe/Recipe.h"

namespace recipec::passes {

/// Gives `attention` the attributes `documents` = false where each row is one
/// document, `most_documents` where it has a known number of them at most, and
/// `deterministic` = false where the recipe lets results depend on timing. Of
/// plans for GPUs alone: kernels of CPUs make no use of any.
void markDocuments(ir::Module& program, const recipe::Recipe& recipe);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_FUSE_DOCUMENTS_H
