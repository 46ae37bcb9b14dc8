// The results of nccl-tests, or of `reciperun bench COLLECTIVE`, which prints
// the same table and writes the same JSON.

#ifndef RECIPERUN_BENCHLOG_BENCHLOG_H
#define RECIPERUN_BENCHLOG_BENCHLOG_H

#include "runtime/base/Status.h"
#include "runtime/benchlog/CollectiveTest.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace reciperun::benchlog {

/// A number as printed: its true value is at most `rounding` away.
struct Figure {
  double value = 0;
  double rounding = 0;
};

/// The range of bytes that something was read from; empty for JSON.
struct TextSpan {
  size_t begin = 0, end = 0;
};

/// The out-of-place or the in-place half of a row.
struct Half {
  Figure microseconds;
  Figure algorithm, bus;       // GB/s
  std::optional<double> wrong; // elements; nullopt: not checked
};

struct Row {
  int64_t size = 0;  // bytes of the larger buffer of a rank
  int64_t count = 0; // elements of a rank's part
  std::string type;  // `float`
  std::string redop; // `sum`; `none` or empty for tests that do not reduce
  int root = -1;     // -1: the test has none
  std::optional<Half> outOfPlace, inPlace;
  std::string timestamp = {};
  TextSpan span = {};
};

/// A line of `# Using devices`.
struct RankLine {
  int rank = 0, group = 0;
  int64_t pid = 0;
  std::string host;
  int device = 0;
  std::string address; // `0000:1b:00`
  std::string name;    // `NVIDIA H200`
  TextSpan span = {};
};

/// The line with the settings.
struct Settings {
  int threads = 1, gpus = 1; // of each process
  int64_t minBytes = 0, maxBytes = 0;
  int64_t step = 0; // a factor, or bytes
  bool isFactor = false;
  int warmups = 0, iterations = 0, aggregated = 1;
  int validation = 0; // checked iterations
  int graph = 0;      // launches of a CUDA graph
  int unalign = 0;
  int blocking = 0;
  TextSpan span = {};
};

/// One run of one test.
struct BenchLog {
  std::string test; // `all_reduce`; empty when the text does not name it
  std::vector<std::string> arguments;   // of the command line
  std::vector<std::string> environment; // `NAME=value`
  int ncclVersion = 0;                  // 22809 of 2.28.9; 0: not NCCL
  std::string startTime, endTime;
  std::optional<Settings> settings;
  std::vector<RankLine> ranks;
  std::vector<Row> rows;
  std::optional<int64_t> outOfBounds; // measurements with wrong elements
  std::optional<Figure> average;      // of the bus bandwidths, GB/s
  std::string verdict; // on the average: `OK`, `FAILED`, or empty
  TextSpan outOfBoundsSpan = {}, averageSpan = {};
};

/// The bytes of an element of a type by nccl-tests' name; nullopt for others.
std::optional<int64_t> bytesOfType(std::string_view type);

/// The test of a log: the one it names, or one with the same formulas that its
/// first row may be of.
std::optional<CollectiveTest> testOf(const BenchLog& log);

/// The mean of the bus bandwidths of all halves; 0 without rows.
double averageBus(const std::vector<Row>& rows);

/// Reads all tables in a text: the output of nccl-tests, alone or among other
/// lines, also with the rank tags of mpirun (`[1,0]<stdout>:`). Columns are
/// separated by white space; the formats of nccl-tests 2.0 to 2.19 are read. A
/// text without a table gives an empty list.
std::vector<BenchLog> readTables(std::string_view text);

/// Reads the JSON that nccl-tests writes for `-J`.
Expected<BenchLog> readJson(std::string_view text);

/// Reads a text of either kind, distinguished by its first character.
Expected<std::vector<BenchLog>> readBenchLogs(std::string_view text);

/// The lines above the rows. `firstLine` names the program and its version.
std::string headerText(const BenchLog& log, const std::string& firstLine,
                       bool isCpuTime, bool hasTimestamps);
/// The line of a row.
std::string rowText(const Row& row);
/// The lines below the rows.
std::string footerText(const BenchLog& log);

/// The JSON of `-J`, version 3. `isCpuTime` names the times `cpu_time`.
std::string toJson(const BenchLog& log, bool isCpuTime);

/// A number in a column of `width` characters: with 2 decimals, or fewer where
/// it has many digits.
std::string columnText(double value, int width);

} // namespace reciperun::benchlog

#endif // RECIPERUN_BENCHLOG_BENCHLOG_H
