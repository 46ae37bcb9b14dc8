// Methods of other languages, which values do not have: `xs.append(1)`,
// `map.get("key", 0)`.

#ifndef RECIPEC_SEMA_NAMES_METHODS_H
#define RECIPEC_SEMA_NAMES_METHODS_H

#include "compiler/ast/Ast.h"
#include "compiler/diag/Diagnostic.h"
#include "compiler/sema/values/Value.h"

#include <string_view>

namespace recipec::sema {

class Evaluator;

/// Says what to write instead of the method at `range`, `xs.append`, with the
/// arguments behind it. Returns false where the method is not known.
bool helpWithMethod(const SourceMap& sources, diag::Builder& builder,
                    std::string_view method, SourceRange range);

/// Whether a call follows the name at `range`.
bool isCalled(const SourceMap& sources, SourceRange range);

/// Helps with a member of a value without fields: a method, or a text of a data
/// file that was meant as a mapping.
void helpWithMember(const Evaluator& evaluator, diag::Builder& builder,
                    const Value& base, const ast::Name& member,
                    SourceRange range);

} // namespace recipec::sema

#endif // RECIPEC_SEMA_NAMES_METHODS_H
