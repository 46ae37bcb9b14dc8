// The tree as text, for `--emit=ast`: one node a line with its place, indented
// below its parent.
//
//   recipe 3:1-5:2 demo
//     set 4:3-4:15 task
//       string 4:10-4:15 "sft"

#ifndef RECIPEC_AST_PRINT_H
#define RECIPEC_AST_PRINT_H

#include "compiler/ast/Ast.h"

#include <string>

namespace recipec::ast {

/// Prints all declarations of a file, without comments. `sources` turns ranges
/// into lines and columns.
std::string print(const File& file, const SourceMap& sources);

} // namespace recipec::ast

#endif // RECIPEC_AST_PRINT_H
