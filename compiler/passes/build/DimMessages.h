// Messages about the dimensions of operands that name more than the op itself.

#ifndef RECIPEC_PASSES_BUILD_DIMMESSAGES_H
#define RECIPEC_PASSES_BUILD_DIMMESSAGES_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/ir/Ir.h"

#include <string>

namespace recipec::passes {

/// The linear that made the dimensions of a value, through norms, rotations and
/// activations, which keep them; null where it is another op.
const ir::Op* linearBehind(const ir::Module& module, ir::ValueId value);

/// Reports key heads that do not divide the query heads of an attention, at the
/// number of key heads. Returns false.
bool reportHeads(const ir::Module& module, const ir::Op& attention,
                 ir::DimId queries, ir::DimId keys, diag::Engine& engine);

/// Warns of a linear between `dispatch` and `combine`: it multiplies the rows
/// of all experts with one matrix. `from` and `to` are in backticks.
void warnOfSharedWeight(const ir::Op& linear, const std::string& from,
                        const std::string& to, diag::Engine& engine);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_BUILD_DIMMESSAGES_H
