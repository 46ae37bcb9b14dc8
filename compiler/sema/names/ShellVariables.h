// Variables of the environment in strings: `"${HOME}/runs"`, `"$HOME/runs"`.

#ifndef RECIPEC_SEMA_NAMES_SHELLVARIABLES_H
#define RECIPEC_SEMA_NAMES_SHELLVARIABLES_H

#include "compiler/ast/Ast.h"

#include <string>

namespace recipec::sema {

class Evaluator;

/// Reports an unknown name in `${HOME}`, which is a variable by its capitals;
/// false for others.
bool reportVariable(Evaluator& evaluator, const ast::Name& name);

/// Warns of `dir = "~/runs"`, a folder that is called `~`. Files that are read
/// are reported where they are missing.
void warnOfHome(Evaluator& evaluator, const std::string& text,
                SourceRange range);

/// Warns of a `$` that is part of a string's text: before an interpolation that
/// has a value, `${name}`, and before the name of a variable in a path.
void warnOfDollar(Evaluator& evaluator, const ast::File& file,
                  const ast::StringLiteral& literal, SourceRange range);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_NAMES_SHELLVARIABLES_H
