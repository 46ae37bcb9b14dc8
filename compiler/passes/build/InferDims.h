// The dimensions and types of an op's results from those of its operands.

#ifndef RECIPEC_PASSES_BUILD_INFERDIMS_H
#define RECIPEC_PASSES_BUILD_INFERDIMS_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/ir/Ir.h"

namespace recipec::passes {

/// Fills `type` and `dims` of the results of a forward op whose operands are
/// typed. False after reporting that the operands do not fit, in terms of the
/// user's dimensions: "`hidden` is 4096 here and 4095 there". `contracted` is
/// how many of the weight's last dimensions a linear contracts.
bool inferDims(ir::Module& module, const ir::Op& op, size_t contracted,
               diag::Engine& engine);

/// Whether two dimensions are one: the same, or of one name and size.
bool sameDim(const ir::Module& module, ir::DimId left, ir::DimId right);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_BUILD_INFERDIMS_H
