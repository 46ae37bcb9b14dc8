// The only style of recipes.
//
//   - two spaces of indentation, 80 columns, one blank line at most;
//   - a body that was written on one line stays on one line while it fits;
//   - `=` and `{` of settings on neighbouring lines are aligned;
//   - lines that are too long break at their outermost brackets or operators;
//   - comments stay with their item; an item with comments inside it is kept as
//     written, only its indentation changes.

#ifndef RECIPEC_FORMAT_FORMAT_H
#define RECIPEC_FORMAT_FORMAT_H

#include "compiler/ast/Ast.h"

#include <string>

namespace recipec::format {

/// Formats a file without syntax errors. Formatting the result again changes
/// nothing. `sources` gives the spelling of literals.
std::string format(const ast::File& file, const SourceMap& sources);

} // namespace recipec::format

#endif // RECIPEC_FORMAT_FORMAT_H
