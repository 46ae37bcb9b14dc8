// Cells are separated by commas. A quoted cell may contain commas, and
// quotation marks as pairs of them (RFC 4180), but no line breaks.

#include "compiler/import/Table.h"

namespace recipec::importer {
namespace {

/// Reads the cell that begins at `at`, and moves `at` after it.
Cell readCell(std::string_view line, SourceRange lineRange, size_t& at) {
  Cell cell;
  const size_t begin = at;
  bool isQuoted = false;
  for (; at < line.size() && (isQuoted || line[at] != ','); ++at) {
    if (line[at] != '"') {
      cell.text += line[at];
      continue;
    }
    const bool isPair = isQuoted && line.substr(at + 1, 1) == "\"";
    if (isPair)
      cell.text += line[at++];
    else
      isQuoted = !isQuoted;
  }
  cell.range = {lineRange.source, lineRange.begin + uint32_t(begin),
                lineRange.begin + uint32_t(at)};
  return cell;
}

std::vector<Cell> readCells(std::string_view line, SourceRange range) {
  std::vector<Cell> cells;
  for (size_t at = 0; at <= line.size(); ++at)
    cells.push_back(readCell(line, range, at));
  return cells;
}

} // namespace

const Cell* Table::find(const Row& row, std::string_view name) const {
  for (size_t i = 0; i < columns.size() && i < row.cells.size(); ++i)
    if (columns[i].text == name)
      return row.cells[i].text.empty() ? nullptr : &row.cells[i];
  return nullptr;
}

std::optional<Table> readTable(const SourceMap& sources, SourceId source,
                               diag::Engine& engine) {
  Table table;
  bool isGood = true;
  for (int line = 1; line <= sources.lineCount(source); ++line) {
    std::string_view text = sources.lineText(source, line);
    if (text.ends_with('\r'))
      text.remove_suffix(1);
    if (text.empty())
      continue;
    const uint32_t begin = sources.lineBegin(source, line);
    const SourceRange range{source, begin, begin + uint32_t(text.size())};
    std::vector<Cell> cells = readCells(text, range);
    if (table.columns.empty()) {
      table.columns = std::move(cells);
      continue;
    }
    if (cells.size() != table.columns.size()) {
      engine
          .report(diag::Kind::InvalidData, range,
                  "this row has " + std::to_string(cells.size()) +
                      " cells, and the first line names " +
                      std::to_string(table.columns.size()) + " columns")
          .help("separate the cells by commas, and leave a cell empty that has "
                "no value");
      isGood = false;
    }
    table.rows.push_back({line, range, std::move(cells)});
  }
  if (table.rows.empty()) {
    engine
        .report(diag::Kind::InvalidData, {source, 0, 0},
                "this table has no rows")
        .help("name a table whose first line names the columns");
    isGood = false;
  }
  return isGood ? std::optional(std::move(table)) : std::nullopt;
}

} // namespace recipec::importer
