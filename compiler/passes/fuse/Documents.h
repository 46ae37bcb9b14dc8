// Marks work that attention on GPUs may skip.

#ifndef RECIPEC_PASSES_FUSE_DOCUMENTS_H
#define RECIPEC_PASSES_FUSE_DOCUMENTS_H

#include "compiler/ir/Ir.h"
#include "compiler/recipe/Recipe.h"

namespace recipec::passes {

/// Sets attributes of `attention`: `documents` = false when each row is one
/// document, `most_documents` when a row has a known maximum of documents, and
/// `deterministic` = false when the recipe lets results depend on timing. Only
/// for GPUs: CPU kernels do not use these attributes.
void markDocuments(ir::Module& program, const recipe::Recipe& recipe);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_FUSE_DOCUMENTS_H
