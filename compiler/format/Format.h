// The one style of recipes.
//
//   - two spaces of indentation, 80 columns, one blank line at most;
//   - a body that was written on one line stays there while it fits;
//   - `=` and `{` of settings on neighbouring lines stand below one another;
//   - what does not fit breaks at its outermost brackets or operators;
//   - comments stay with their item; an item with comments inside it is kept as
//     written and only indented anew.

#ifndef RECIPEC_FORMAT_FORMAT_H
#define RECIPEC_FORMAT_FORMAT_H

#include "compiler/ast/Ast.h"

#include <string>

namespace recipec::format {

/// The text of a file without syntax errors in the one style; formatting it
/// again changes nothing. `sources` gives the spelling of literals.
std::string format(const ast::File& file, const SourceMap& sources);

} // namespace recipec::format

#endif // RECIPEC_FORMAT_FORMAT_H
