// Markdown from the `##` comments of a file.

#ifndef RECIPEC_DRIVER_DOCUMENTATION_H
#define RECIPEC_DRIVER_DOCUMENTATION_H

#include "compiler/ast/Ast.h"

#include <string>
#include <vector>

namespace recipec::driver {

/// The lines of an item's `##` comments, without the marks; that behind it on
/// its line is the last.
std::vector<std::string> docLines(const ast::Comments& comments);

/// The first sentence of the comment at the file's top; may be empty.
std::string fileSummary(const ast::File& file);

/// The file under a heading of `level`: the comment at its top, then every
/// declaration that it makes, with its fields as a table.
std::string fileMarkdown(const ast::File& file, const SourceMap& sources,
                         int level);

/// What the file declares by the name, under a heading of level 1; empty where
/// there is nothing.
std::string declarationMarkdown(const ast::File& file, const SourceMap& sources,
                                std::string_view name);

/// A field of the schema `name`, under a heading of level 1; empty where there
/// is none.
std::string fieldMarkdown(const ast::File& file, const SourceMap& sources,
                          std::string_view name, std::string_view field);

} // namespace recipec::driver

#endif // RECIPEC_DRIVER_DOCUMENTATION_H
