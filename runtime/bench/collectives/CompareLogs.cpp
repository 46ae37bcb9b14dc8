// See CompareLogs.h.

#include "runtime/bench/collectives/CompareLogs.h"

#include "runtime/base/InputFile.h"

#include <algorithm>
#include <cstdio>

namespace reciperun::bench {
namespace {

using benchlog::BenchLog;
using benchlog::Half;
using benchlog::Row;

/// Earlier versions of nccl-tests leave the operator out.
std::string operatorOf(const Row& row) {
  return row.redop.empty() ? "none" : row.redop;
}

bool isSameRow(const Row& a, const Row& b) {
  return a.size == b.size && a.type == b.type && a.root == b.root &&
         operatorOf(a) == operatorOf(b);
}

std::string percentText(double percent) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", percent);
  return text;
}

class LogComparer {
public:
  explicit LogComparer(double tolerance) : tolerance(tolerance) {}

  void add(const Row& before, const Row& now) {
    add(now, "out-of-place", before.outOfPlace, now.outOfPlace);
    add(now, "in-place", before.inPlace, now.inPlace);
  }

  std::string lines;
  int compared = 0, slower = 0;

private:
  void add(const Row& row, const char* name, const std::optional<Half>& before,
           const std::optional<Half>& now) {
    if (!before || !now || before->bus.value <= 0)
      return;
    const double change = 100 * (now->bus.value / before->bus.value - 1);
    const bool isSlower = change < -tolerance;
    char line[256];
    std::snprintf(line, sizeof line,
                  "# %10lld  %8s  %6s  %6d  %12s  %s  %s  %+7.1f %%%s\n",
                  static_cast<long long>(row.size), row.type.c_str(),
                  operatorOf(row).c_str(), row.root, name,
                  benchlog::columnText(before->bus.value, 8).c_str(),
                  benchlog::columnText(now->bus.value, 8).c_str(), change,
                  isSlower ? "  slower than allowed" : "");
    lines += line;
    ++compared;
    slower += isSlower;
  }

  double tolerance;
};

std::string titles() {
  char line[160];
  std::snprintf(line, sizeof line,
                "# %10s  %8s  %6s  %6s  %12s  %8s  %8s  %9s\n", "size", "type",
                "redop", "root", "half", "before", "now", "change");
  return line;
}

} // namespace

Expected<BenchLog> readEarlierLog(const std::string& path,
                                  const std::string& test) {
  const auto text = readTextFile(path);
  RECIPERUN_TRY(text.status().withContext("`" + path + "`"));
  auto logs = benchlog::readBenchLogs(*text);
  RECIPERUN_TRY(logs.status().withContext("`" + path + "`"));
  if (logs->empty())
    return Status::error("`" + path +
                         "` has no table of nccl-tests; name a file that "
                         "`--output_file` has written");
  // A log that does not say its test may be of this one.
  const auto found = std::ranges::find_if(*logs, [&](const BenchLog& log) {
    return log.test.empty() || log.test == test;
  });
  if (found == logs->end())
    return Status::error("`" + path + "` is of `" + logs->front().test +
                         "`, not of `" + test + "`");
  return std::move(*found);
}

Expected<LogComparison> compareLogs(const BenchLog& before, const BenchLog& now,
                                    double tolerance, const std::string& path) {
  LogComparer comparer(tolerance);
  for (const Row& row : now.rows) {
    const auto earlier = std::ranges::find_if(
        before.rows, [&](const Row& each) { return isSameRow(each, row); });
    if (earlier != before.rows.end())
      comparer.add(*earlier, row);
  }
  if (comparer.compared == 0)
    return Status::error("`" + path +
                         "` has no row with the size, type, operator and root "
                         "of a row of this run");
  LogComparison result;
  result.slower = comparer.slower;
  result.text = "# Bus bandwidth in GB/s compared with `" + path + "`, " +
                percentText(tolerance) + " % allowed\n";
  const size_t ranksBefore = before.ranks.size(), ranks = now.ranks.size();
  if (ranksBefore != ranks && ranksBefore > 0)
    result.text += "# That run had " + std::to_string(ranksBefore) +
                   " ranks, and this one has " + std::to_string(ranks) + "\n";
  result.text += titles() + comparer.lines;
  result.text += "# " + std::to_string(comparer.slower) + " of " +
                 std::to_string(comparer.compared) +
                 " measurements are slower than allowed\n";
  return result;
}

} // namespace reciperun::bench
