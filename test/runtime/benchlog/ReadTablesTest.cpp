// Unit tests for reading tables of all versions of nccl-tests, also within logs
// of jobs.

#include "runtime/benchlog/BenchLog.h"

#include <gtest/gtest.h>

namespace reciperun::benchlog {
namespace {

/// As versions before 2.13 print it, under Slurm.
constexpr std::string_view oldLog =
    R"(+ srun --mpi=pmix /opt/nccl_tests/build/all_reduce_perf -b 512M -e 1G -f 2 -g 1
# nThread 1 nGpus 1 minBytes 536870912 maxBytes 1073741824 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0
#
# Using devices
#  Rank  0 Group  0 Pid   2121 on   worker-0 device  0 [0x01] NVIDIA H100 80GB HBM3
#  Rank  1 Pid   2122 on   worker-0 device  1 [0x02] NVIDIA H100 80GB HBM3
NCCL version 2.20.5+cuda12.4
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
   536870912     134217728     float     sum      -1   3000.0  178.96  178.96      0   3010.5  178.33  178.33    N/A
  1073741824     268435456     float     sum      -1   5800.1  185.12  185.12      0   5900.9  181.96  181.96      2
# Out of bounds values : 1 FAILED
# Avg bus bandwidth    : 181.093
#
)";

TEST(ReadTables, ReadsOldFormats) {
  const auto logs = readTables(oldLog);
  ASSERT_EQ(logs.size(), 1u);
  const BenchLog& log = logs[0];
  EXPECT_EQ(log.test, "all_reduce");
  EXPECT_EQ(log.settings->minBytes, 536870912);
  ASSERT_EQ(log.ranks.size(), 2u);
  EXPECT_EQ(log.ranks[0].address, "0x01");
  EXPECT_EQ(log.ranks[1].pid, 2122);
  EXPECT_EQ(log.ranks[1].name, "NVIDIA H100 80GB HBM3");
  ASSERT_EQ(log.rows.size(), 2u);
  EXPECT_EQ(log.rows[0].redop, "sum");
  EXPECT_EQ(log.rows[0].root, -1);
  EXPECT_DOUBLE_EQ(log.rows[0].outOfPlace->microseconds.value, 3000);
  EXPECT_DOUBLE_EQ(log.rows[0].outOfPlace->microseconds.rounding, 0.05);
  EXPECT_DOUBLE_EQ(log.rows[0].outOfPlace->bus.rounding, 0.005);
  EXPECT_FALSE(log.rows[0].inPlace->wrong);
  EXPECT_EQ(log.rows[1].inPlace->wrong, 2);
  EXPECT_EQ(log.outOfBounds, 1);
  EXPECT_NEAR(log.average->value, 181.093, 1e-9);
  EXPECT_NEAR(log.average->rounding, 0.0005, 1e-9);
}

TEST(ReadTables, KeepsTheRangeOfEachRow) {
  const auto logs = readTables(oldLog);
  const TextSpan span = logs[0].rows[1].span;
  const auto text = oldLog.substr(span.begin, span.end - span.begin);
  EXPECT_TRUE(text.starts_with("1073741824 ")) << text;
  EXPECT_TRUE(text.ends_with(" 2")) << text;
}

TEST(ReadTables, ReadsRowsWithoutOperatorAndRoot) {
  const auto logs = readTables(
      "        1024            32   float    25.10    0.04    0.04  0e+00    "
      "25.00    0.04    0.04  0e+00\n");
  ASSERT_EQ(logs.size(), 1u);
  EXPECT_EQ(logs[0].rows[0].redop, "");
  EXPECT_EQ(logs[0].rows[0].root, -1);
  EXPECT_EQ(logs[0].rows[0].inPlace->wrong, 0);
}

TEST(ReadTables, ReadsPerIterationTimesAndTimeStamps) {
  const auto logs = readTables(
      "1024 256 float sum -1 25.1 0.04 0.04 0 20.0 30.0 29.0 4.1 "
      "26.1 0.05 0.06 0 21.0 31.0 30.0 4.2 2026-07-09 10:00:00\n"
      "2048 512 float none 3 1.5e+07 0.07 0.07 1 1.6e+07 0.08 0.08 0\n");
  ASSERT_EQ(logs.size(), 1u);
  ASSERT_EQ(logs[0].rows.size(), 2u);
  EXPECT_EQ(logs[0].rows[0].inPlace->bus.value, 0.06);
  EXPECT_EQ(logs[0].rows[0].timestamp, "2026-07-09 10:00:00");
  EXPECT_EQ(logs[0].rows[1].root, 3);
  EXPECT_EQ(logs[0].rows[1].outOfPlace->microseconds.value, 1.5e7);
  EXPECT_EQ(logs[0].rows[1].outOfPlace->microseconds.rounding, 5e5);
}

TEST(ReadTables, RemovesTheTagsOfMpirun) {
  const auto logs = readTables(
      "[1,0]<stdout>:# nThread 1 nGpus 1 minBytes 8 maxBytes 8 step: "
      "1048576(bytes) warmup iters: 1 iters: 20 agg iters: 1 validation: 1 "
      "graph: 0\n"
      "[1,0]<stdout>:           8             2     float     sum      -1    "
      "25.1    0.00    0.00       0    25.0    0.00    0.00       0\n");
  ASSERT_EQ(logs.size(), 1u);
  EXPECT_EQ(logs[0].rows.size(), 1u);
  EXPECT_FALSE(logs[0].settings->isFactor);
}

TEST(ReadTables, TellsSeveralRunsApart) {
  const std::string two = std::string(oldLog) +
                          "# Collective test starting: broadcast_perf\n"
                          "# nThread 1 nGpus 1 minBytes 8 maxBytes 8 step: "
                          "2(factor) warmup iters: 1 iters: 20 agg iters: 1\n"
                          "8 2 float none 0 25.1 0.00 0.00 0 25.0 0.00 0.00 "
                          "0\n";
  const auto logs = readTables(two);
  ASSERT_EQ(logs.size(), 2u);
  EXPECT_EQ(logs[1].test, "broadcast");
  EXPECT_EQ(logs[1].rows[0].root, 0);
  EXPECT_TRUE(logs[1].ranks.empty());
}

TEST(ReadTables, IgnoresOtherLines) {
  EXPECT_TRUE(readTables("").empty());
  EXPECT_TRUE(readTables("8 2 float sum\n# nothing\n1 2 3 4 5 6 7 8 9 10\n"
                         "8 2 float sum -1 x 0.0 0.0 0 1 1 1 0\n")
                  .empty());
}

} // namespace
} // namespace reciperun::benchlog
