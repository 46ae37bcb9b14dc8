// Unit tests for the comparison with an earlier run.

#include "runtime/bench/collectives/CompareLogs.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace reciperun::bench {
namespace {

using benchlog::BenchLog;
using benchlog::Half;
using benchlog::Row;

Row rowOf(int64_t size, double outOfPlace, double inPlace) {
  return {size,
          size / 4,
          "float",
          "sum",
          -1,
          Half{{1}, {outOfPlace}, {outOfPlace}, 0},
          Half{{1}, {inPlace}, {inPlace}, 0},
          "",
          {}};
}

BenchLog logOf(std::vector<Row> rows) {
  BenchLog log;
  log.test = "all_reduce";
  log.rows = std::move(rows);
  log.ranks.resize(2);
  return log;
}

TEST(CompareLogs, CountsWhatIsSlowerThanAllowed) {
  const BenchLog before = logOf({rowOf(8, 1, 1), rowOf(1024, 100, 200)});
  const BenchLog now = logOf({rowOf(1024, 91, 170), rowOf(2048, 1, 1)});
  const auto result = compareLogs(before, now, 10, "before.json");
  ASSERT_TRUE(result) << result.message();
  EXPECT_EQ(result->slower, 1);
  EXPECT_EQ(result->text,
            "# Bus bandwidth in GB/s compared with `before.json`, 10 % "
            "allowed\n"
            "#       size      type   redop    root          half    before    "
            "   now     change\n"
            "#       1024     float     sum      -1  out-of-place    100.00    "
            " 91.00     -9.0 %\n"
            "#       1024     float     sum      -1      in-place    200.00    "
            "170.00    -15.0 %  slower than allowed\n"
            "# 1 of 2 measurements are slower than allowed\n");
}

TEST(CompareLogs, SaysThatTheRanksDiffer) {
  const BenchLog before = logOf({rowOf(8, 1, 1)});
  BenchLog now = before;
  now.ranks.resize(4);
  const auto result = compareLogs(before, now, 0, "before.json");
  ASSERT_TRUE(result);
  EXPECT_EQ(result->slower, 0);
  EXPECT_NE(result->text.find("had 2 ranks, and this one has 4"),
            std::string::npos);
}

TEST(CompareLogs, FailsWithoutCommonRows) {
  const auto result =
      compareLogs(logOf({rowOf(8, 1, 1)}), logOf({rowOf(16, 1, 1)}), 10, "x");
  EXPECT_EQ(result.message(), "`x` has no row with the size, type, operator "
                              "and root of a row of this run");
}

TEST(ReadEarlierLog, ChoosesTheTest) {
  const auto path = std::filesystem::temp_directory_path() /
                    ("earlier." + std::to_string(getpid()));
  std::ofstream(path) << "# Collective test starting: all_gather_perf\n"
                         "8 2 float none -1 1 1 1 0 1 1 1 0\n"
                         "# Avg bus bandwidth    : 1\n"
                         "# Collective test starting: all_reduce_perf\n"
                         "16 4 float sum -1 1 1 1 0 1 1 1 0\n";
  const auto found = readEarlierLog(path, "all_reduce");
  ASSERT_TRUE(found) << found.message();
  EXPECT_EQ(found->rows[0].size, 16);
  EXPECT_EQ(readEarlierLog(path, "reduce").message(),
            "`" + path.string() + "` is of `all_gather`, not of `reduce`");
  std::ofstream(path) << "nothing\n";
  EXPECT_NE(readEarlierLog(path, "reduce").message().find("has no table"),
            std::string::npos);
  std::filesystem::remove(path);
  EXPECT_FALSE(readEarlierLog(path, "reduce").status().isOk());
}

} // namespace
} // namespace reciperun::bench
