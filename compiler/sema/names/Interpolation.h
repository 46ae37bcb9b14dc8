// Unknown names between the braces of a string, `"runs/{name}"`.

#ifndef RECIPEC_SEMA_NAMES_INTERPOLATION_H
#define RECIPEC_SEMA_NAMES_INTERPOLATION_H

#include "compiler/ast/Ast.h"
#include "compiler/base/Source.h"
#include "compiler/diag/Diagnostic.h"

#include <string>

namespace recipec::sema {

/// "there is nothing called `name` here", with the string that reads the name.
std::string unknownMessage(const SourceMap& sources, const ast::Name& name);

/// Helps if the braces were meant as text, as in `"<{role}>"`. Returns false if
/// the name is not in a string.
bool helpWithInterpolation(const SourceMap& sources, diag::Builder& builder,
                           const ast::Name& name);

/// Helps with a name in the string of an argument `hf`, where `\{expert}`
/// stands for an expert's index. Returns false elsewhere.
bool helpWithHfInterpolation(const SourceMap& sources, diag::Builder& builder,
                             const ast::Name& name);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_NAMES_INTERPOLATION_H
