// See BenchTable.h.

#include "compiler/import/BenchTable.h"

#include "compiler/import/BenchFindings.h"

#include <cstdio>

namespace recipec::importer {
namespace {

/// `8 GiB`, `384 B`; sizes that are no multiple of the unit stay in bytes.
std::string sizeText(int64_t bytes) {
  constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  size_t unit = 0;
  while (bytes >= 1024 && bytes % 1024 == 0 && unit + 1 < std::size(units)) {
    bytes /= 1024;
    ++unit;
  }
  return std::to_string(bytes) + " " + units[unit];
}

std::string titleOf(const benchlog::BenchLog& log) {
  std::string title = log.test.empty() ? "a collective" : log.test;
  if (const auto bounds = boundsOfRanks(log))
    title += " on " + textOf(*bounds) + " ranks, by busbw / algbw";
  else if (!log.ranks.empty())
    title += " on " + std::to_string(log.ranks.back().rank + 1) + " ranks";
  if (!log.ranks.empty() && !log.ranks.front().name.empty())
    title += ", " + log.ranks.front().name;
  return title + "\n";
}

std::string halfColumns(const std::optional<benchlog::Half>& half) {
  if (!half)
    return std::string(36, ' ');
  char wrong[32] = "     N/A";
  if (half->wrong)
    std::snprintf(wrong, sizeof wrong, "%8g", *half->wrong);
  return benchlog::columnText(half->microseconds.value, 10) + " " +
         benchlog::columnText(half->algorithm.value, 8) + " " +
         benchlog::columnText(half->bus.value, 8) + wrong;
}

std::string rowLine(const benchlog::Row& row) {
  char line[64];
  std::snprintf(line, sizeof line, "%10s %9s %6s", sizeText(row.size).c_str(),
                row.type.c_str(),
                row.redop.empty() ? "none" : row.redop.c_str());
  return line + halfColumns(row.outOfPlace) + halfColumns(row.inPlace) + "\n";
}

} // namespace

std::string benchTable(const benchlog::BenchLog& log) {
  const std::string half = "   time us    algbw    busbw  #wrong";
  std::string text = titleOf(log);
  text += "      size      type  redop" + half + half + "\n";
  for (const benchlog::Row& row : log.rows)
    text += rowLine(row);
  char line[80];
  std::snprintf(line, sizeof line, "average bus bandwidth %.6g GB/s\n",
                benchlog::averageBus(log.rows));
  return text + line;
}

} // namespace recipec::importer
