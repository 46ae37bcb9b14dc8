// A TOML file as entries.

#ifndef RECIPEC_IMPORT_TOML_H
#define RECIPEC_IMPORT_TOML_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/import/Entries.h"

#include <vector>

namespace recipec::importer {

/// The entries of a TOML file. Reports what is no TOML, and returns nothing
/// then.
std::vector<Entry> readToml(const SourceMap& sources, SourceId source,
                            diag::Engine& engine);

} // namespace recipec::importer

#endif // RECIPEC_IMPORT_TOML_H
