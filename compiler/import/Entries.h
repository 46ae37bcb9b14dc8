// A configuration as a list of keys and values.
//
//   trainer:             trainer.devices = 8
//     devices: 8     ->  optim.betas     = 0.9 0.98
//   optim:
//     betas: [0.9, 0.98]

#ifndef RECIPEC_IMPORT_ENTRIES_H
#define RECIPEC_IMPORT_ENTRIES_H

#include "compiler/ast/Ast.h"

#include <string>
#include <vector>

namespace recipec::importer {

/// A value of a configuration and its place.
struct Entry {
  std::string key;                 // `trainer.devices`
  std::vector<std::string> values; // one; those of a list; none for null
  bool isList = false;
  SourceRange range;

  /// `trainer.devices = 8`.
  std::string written() const;
};

/// The entries of a YAML or JSON file, in the order of the file. For a list
/// element that is not a scalar, the key includes its index.
std::vector<Entry> entriesOf(const ast::File& data, const SourceMap& sources);

} // namespace recipec::importer

#endif // RECIPEC_IMPORT_ENTRIES_H
