// Messages about dimensions that need more than the op that reports them.

#ifndef RECIPEC_PASSES_BUILD_DIMMESSAGES_H
#define RECIPEC_PASSES_BUILD_DIMMESSAGES_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/ir/Ir.h"
#include "compiler/recipe/Recipe.h"

#include <string>
#include <string_view>

namespace recipec::passes {

/// The op that determines the dimensions of a value. Goes back through norms,
/// rotations and activations, which keep them; null for an input or a
/// parameter.
const ir::Op* makerBehind(const ir::Module& module, ir::ValueId value);
/// The same op if it is a linear, and null otherwise.
const ir::Op* linearBehind(const ir::Module& module, ir::ValueId value);

/// Reports key heads that do not divide the query heads of an attention, at the
/// number of key heads. Returns false.
bool reportHeads(const ir::Module& module, const ir::Op& attention,
                 ir::DimId queries, ir::DimId keys, diag::Engine& engine);

/// Adds a help about an operand of an attention that is not split into heads.
/// `name` is the name of the operand, and `made` the name of the layer that the
/// help proposes for it.
void helpWithHeads(const ir::Module& module, ir::ValueId operand,
                   const std::string& name, std::string_view made,
                   diag::Builder& builder);

/// Reports an odd width of heads, which `rope` cannot split into pairs, at the
/// size of the dimension.
void reportOddWidth(const ir::Module& module, const ir::Op& rope,
                    ir::DimId width, diag::Engine& engine);

/// Reports that operand number `place` of an op is a parameter, where the op
/// takes a computed tensor. The message omits the name of the parameter, which
/// differs in every layer. `other` is the op's other operand, or `none`.
void reportParameter(const ir::Module& module, const recipe::Call& call,
                     ir::OpKind kind, int place, ir::ValueId parameter,
                     ir::ValueId other, diag::Engine& engine);

/// Reports two operands that are swapped.
void reportSwapped(const recipe::Call& call, size_t one, size_t other,
                   diag::Engine& engine);

/// Warns of a linear between `dispatch` and `combine`: it multiplies the rows
/// of all experts with one matrix. `from` and `to` are in backticks.
void warnOfSharedWeight(const ir::Op& linear, const std::string& from,
                        const std::string& to, diag::Engine& engine);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_BUILD_DIMMESSAGES_H
