// The names by which other tools call an op.

#ifndef RECIPEC_SEMA_NAMES_OPNAMES_H
#define RECIPEC_SEMA_NAMES_OPNAMES_H

#include "compiler/ast/Ast.h"
#include "compiler/diag/Diagnostic.h"

namespace recipec::sema {

class Evaluator;

/// Says which op other tools call `name`, by the comments of the ops; false
/// where it is none. `range` is what the op's name replaces.
bool helpWithOp(Evaluator& evaluator, diag::Builder& builder,
                const ast::Name& name, SourceRange range);

/// The name before the first dot of `F.silu`; null where `expr` is no member
/// of a name.
const ast::Name* rootOf(const ast::File& file, const ast::Expr& expr);

/// Reports `F.silu(x)`, `torch.nn.functional.silu(x)` or `self.attend(x)`,
/// whose `root` nothing is called. `isKnown`: an op or block has the last name.
void reportQualified(Evaluator& evaluator, const ast::Expr& callee,
                     const ast::Name& root, bool isKnown);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_NAMES_OPNAMES_H
