// See BenchLog.h.

#include "runtime/benchlog/BenchLog.h"

#include <utility>

namespace reciperun::benchlog {

std::optional<int64_t> bytesOfType(std::string_view type) {
  constexpr std::pair<std::string_view, int64_t> sizes[] = {
      {"int8", 1},     {"uint8", 1},    {"int32", 4},  {"uint32", 4},
      {"int64", 8},    {"uint64", 8},   {"half", 2},   {"float", 4},
      {"double", 8},   {"bfloat16", 2}, {"f8e4m3", 1}, {"f8e5m2", 1},
      {"fp8_e4m3", 1}, {"fp8_e5m2", 1}};
  for (const auto& [name, bytes] : sizes)
    if (name == type)
      return bytes;
  return std::nullopt;
}

std::optional<CollectiveTest> testOf(const BenchLog& log) {
  if (const auto named = findTest(log.test))
    return named;
  if (log.rows.empty())
    return std::nullopt;
  const Row& row = log.rows.front();
  const auto bytes = bytesOfType(row.type);
  if (!bytes)
    return std::nullopt;
  const bool reduces = !row.redop.empty() && row.redop != "none";
  const bool isWhole = row.count * *bytes == row.size;
  if (row.root >= 0)
    return reduces   ? CollectiveTest::reduce
           : isWhole ? CollectiveTest::broadcast
                     : CollectiveTest::gather;
  if (reduces)
    return isWhole ? CollectiveTest::allReduce : CollectiveTest::reduceScatter;
  return isWhole ? CollectiveTest::sendRecv : CollectiveTest::allGather;
}

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
