// Data files, YAML and JSON, to syntax trees.
//
//   training:                 let run = {
//     epochs: 3          ->     training = { epochs = 3 }
//                             }
//
// A mapping becomes a record, a sequence a list, a scalar a literal; each has
// its range in the data file, so that a message about a value points there.

#ifndef RECIPEC_PARSE_DATA_H
#define RECIPEC_PARSE_DATA_H

#include "compiler/ast/Ast.h"
#include "compiler/diag/Diagnostic.h"

#include <string_view>

namespace recipec::parse {

/// The largest data file that is read, in bytes.
inline constexpr size_t maxDataFile = 8 << 20;
/// So many values are read of one, lists and records included.
inline constexpr size_t maxDataValues = 500'000;

/// Whether a path names data: `.yaml`, `.yml`, `.json`.
bool isDataFile(std::string_view path);

/// A file of one declaration, `let data = ...`; of none where the text has
/// errors, which are reported. JSON where the source's name ends in `.json`,
/// else YAML by the core schema of YAML 1.2 (yaml.org/spec/1.2.2, 10.3).
/// An alias shares the nodes of its anchor.
ast::File parseData(const SourceMap& sources, SourceId source,
                    diag::Engine& engine);

} // namespace recipec::parse

#endif // RECIPEC_PARSE_DATA_H
