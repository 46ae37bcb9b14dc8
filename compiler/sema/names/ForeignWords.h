// Words that other languages have, and what to write instead.

#ifndef RECIPEC_SEMA_NAMES_FOREIGNWORDS_H
#define RECIPEC_SEMA_NAMES_FOREIGNWORDS_H

#include "compiler/ast/Ast.h"
#include "compiler/diag/Diagnostic.h"

namespace recipec::sema {

/// Says what to write instead of `True`, `softmax` and other words that the
/// language and its library lack; false where `name` is none of them.
bool helpWithForeignWord(diag::Builder& builder, const ast::Name& name);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_NAMES_FOREIGNWORDS_H
