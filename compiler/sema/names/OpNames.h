// The names by which other tools call an op.

#ifndef RECIPEC_SEMA_NAMES_OPNAMES_H
#define RECIPEC_SEMA_NAMES_OPNAMES_H

#include "compiler/ast/Ast.h"
#include "compiler/diag/Diagnostic.h"

namespace recipec::sema {

class Evaluator;

/// Helps with another tool's name for an op, listed in the op's comment. The
/// fix-it replaces `range`. Returns false if no op lists `name`.
bool helpWithOp(Evaluator& evaluator, diag::Builder& builder,
                const ast::Name& name, SourceRange range);

/// The first name in `F.silu`; null if `expr` is not a member of a name.
const ast::Name* rootOf(const ast::File& file, const ast::Expr& expr);

/// Reports `F.silu(x)`, `torch.nn.functional.silu(x)` or `self.attend(x)`, if
/// nothing is called `root`. `isKnown` says that an op or block has the last
/// name.
void reportQualified(Evaluator& evaluator, const ast::Expr& callee,
                     const ast::Name& root, bool isKnown);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_NAMES_OPNAMES_H
