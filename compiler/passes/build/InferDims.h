// Infers the dimensions and types of an op's results from its operands.

#ifndef RECIPEC_PASSES_BUILD_INFERDIMS_H
#define RECIPEC_PASSES_BUILD_INFERDIMS_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/ir/Ir.h"

namespace recipec::passes {

/// Fills `type` and `dims` of the results of a forward op whose operands are
/// typed. False after reporting a mismatch in terms of the user's dimensions:
/// "`hidden` is 4096 here and 4095 there". A linear contracts the last
/// `contracted` dimensions of its weight.
bool inferDims(ir::Module& module, const ir::Op& op, size_t contracted,
               diag::Engine& engine);

/// Whether two dimensions have the same id, or the same name and size.
bool sameDim(const ir::Module& module, ir::DimId left, ir::DimId right);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_BUILD_INFERDIMS_H
