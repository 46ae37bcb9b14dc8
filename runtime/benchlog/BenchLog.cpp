// See BenchLog.h.

#include "runtime/benchlog/BenchLog.h"

namespace reciperun::benchlog {

double averageBus(const std::vector<Row>& rows) {
  double sum = 0;
  int halves = 0;
  for (const Row& row : rows)
    for (const auto& half : {row.outOfPlace, row.inPlace})
      if (half) {
        sum += half->bus.value;
        ++halves;
      }
  return halves ? sum / halves : 0;
}

Expected<std::vector<BenchLog>> readBenchLogs(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == text.npos || text[first] != '{')
    return readTables(text);
  auto log = readJson(text);
  RECIPERUN_TRY(log);
  return std::vector<BenchLog>{*std::move(log)};
}

} // namespace reciperun::benchlog
