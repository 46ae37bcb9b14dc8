// Environment variables in strings: `"${HOME}/runs"`, `"$HOME/runs"`.

#ifndef RECIPEC_SEMA_NAMES_SHELLVARIABLES_H
#define RECIPEC_SEMA_NAMES_SHELLVARIABLES_H

#include "compiler/ast/Ast.h"

#include <string>

namespace recipec::sema {

class Evaluator;

/// Reports an unknown name in `${HOME}`. Names in capitals are taken for
/// variables; returns false for others.
bool reportVariable(Evaluator& evaluator, const ast::Name& name);

/// Warns of `dir = "~/runs"`, which names a folder called `~`. For files that
/// are read, the missing file is reported instead.
void warnOfHome(Evaluator& evaluator, const std::string& text,
                SourceRange range);

/// Warns of a `$` that is kept as text: before a valid interpolation,
/// `${name}`, or before a variable's name in a path.
void warnOfDollar(Evaluator& evaluator, const ast::File& file,
                  const ast::StringLiteral& literal, SourceRange range);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_NAMES_SHELLVARIABLES_H
