// Markdown from the `##` comments of a file.

#ifndef RECIPEC_DRIVER_DOCUMENTATION_H
#define RECIPEC_DRIVER_DOCUMENTATION_H

#include "compiler/ast/Ast.h"

#include <string>
#include <vector>

namespace recipec::driver {

/// The lines of an item's `##` comments, without the marks. The comment after
/// the item on its line comes last.
std::vector<std::string> docLines(const ast::Comments& comments);

/// The same lines, but only the description: without the lists of names, values
/// and arguments of other tools (sema/values/Comments.h).
std::vector<std::string> descriptionLines(const ast::Comments& comments);

/// The first sentence of the comment at the top of a file; may be empty.
std::string fileSummary(const ast::File& file);

/// The file under a heading of `level`: the comment at its top, then every
/// declaration with its fields as a table.
std::string fileMarkdown(const ast::File& file, const SourceMap& sources,
                         int level);

/// The declaration of a name under a heading of level 1; empty if the file does
/// not declare it.
std::string declarationMarkdown(const ast::File& file, const SourceMap& sources,
                                std::string_view name);

/// A field of the schema `name` under a heading of level 1; empty if there is
/// none.
std::string fieldMarkdown(const ast::File& file, const SourceMap& sources,
                          std::string_view name, std::string_view field);

} // namespace recipec::driver

#endif // RECIPEC_DRIVER_DOCUMENTATION_H
