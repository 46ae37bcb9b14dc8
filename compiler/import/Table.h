// A CSV table that keeps the source range of each cell.

#ifndef RECIPEC_IMPORT_TABLE_H
#define RECIPEC_IMPORT_TABLE_H

#include "compiler/base/Source.h"
#include "compiler/diag/Diagnostic.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace recipec::importer {

struct Cell {
  std::string text;
  SourceRange range;
};

struct Row {
  int line = 0; // one-based, in the file
  SourceRange range;
  std::vector<Cell> cells;
};

struct Table {
  std::vector<Cell> columns;
  std::vector<Row> rows;

  /// The cell of a row in the column `name`; nullptr if there is no such column
  /// or the cell is empty.
  const Cell* find(const Row& row, std::string_view name) const;
};

/// Reads a table whose first line names the columns. Empty lines are skipped.
/// Returns nullopt, with diagnostics, if the file has no rows or if the number
/// of cells in a row differs from that of the first line.
std::optional<Table> readTable(const SourceMap& sources, SourceId source,
                               diag::Engine& engine);

} // namespace recipec::importer

#endif // RECIPEC_IMPORT_TABLE_H
