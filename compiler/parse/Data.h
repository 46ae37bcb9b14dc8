// YAML and JSON files to syntax trees.
//
//   training:                 let data = {
//     epochs: 3          ->     training = { epochs = 3 }
//                             }
//
// A mapping becomes a record, a sequence a list, a scalar a literal. Each node
// has its range in the data file, so messages about a value point there.

#ifndef RECIPEC_PARSE_DATA_H
#define RECIPEC_PARSE_DATA_H

#include "compiler/ast/Ast.h"
#include "compiler/diag/Diagnostic.h"

#include <string_view>

namespace recipec::parse {

/// The maximum size of a data file, in bytes.
inline constexpr size_t maxDataFile = 8 << 20;
/// The maximum number of values in a data file, including lists and records.
inline constexpr size_t maxDataValues = 500'000;

/// Whether a path names a data file: `.yaml`, `.yml`, `.json`.
bool isDataFile(std::string_view path);

/// Returns a file with one declaration, `let data = ...`. The file is empty
/// when the text has errors; the errors are reported. The format is JSON if the
/// source's name ends in `.json`, else YAML by the core schema of YAML 1.2
/// (yaml.org/spec/1.2.2, 10.3). An alias shares the nodes of its anchor.
ast::File parseData(const SourceMap& sources, SourceId source,
                    diag::Engine& engine);

/// The same for a file that may have several documents, as those of Kubernetes
/// do: a declaration `let data = ...` for each. An empty file has none.
ast::File parseDocuments(const SourceMap& sources, SourceId source,
                         diag::Engine& engine);

} // namespace recipec::parse

#endif // RECIPEC_PARSE_DATA_H
