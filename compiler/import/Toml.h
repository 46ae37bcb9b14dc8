// Reads a TOML file as entries.

#ifndef RECIPEC_IMPORT_TOML_H
#define RECIPEC_IMPORT_TOML_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/import/Entries.h"

#include <vector>

namespace recipec::importer {

/// Returns the entries of a TOML file; reports a syntax error and returns none
/// if it is not valid TOML.
std::vector<Entry> readToml(const SourceMap& sources, SourceId source,
                            diag::Engine& engine);

} // namespace recipec::importer

#endif // RECIPEC_IMPORT_TOML_H
