// Unit tests for the table and the JSON that reciperun writes.

#include "runtime/benchlog/BenchLog.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace reciperun::benchlog {
namespace {

TEST(ColumnText, HasFewerDecimalsForLargeNumbers) {
  EXPECT_EQ(columnText(0.004, 6), "  0.00");
  EXPECT_EQ(columnText(481.234, 6), "481.23");
  EXPECT_EQ(columnText(4812.34, 6), "4812.3");
  EXPECT_EQ(columnText(48123.4, 6), " 48123");
  EXPECT_EQ(columnText(31.415, 7), "  31.41");
  EXPECT_EQ(columnText(43406.2, 7), "43406.2");
  EXPECT_EQ(columnText(434062.4, 7), " 434062");
  EXPECT_EQ(columnText(4.34e8, 7), "4.3e+08");
}

BenchLog example() {
  BenchLog log;
  log.test = "all_reduce";
  log.arguments = {"reciperun", "bench", "all_reduce"};
  log.environment = {"NCCL_DEBUG=WARN"};
  log.ncclVersion = 22809;
  log.startTime = "2026-07-09 10:00:00";
  Settings settings;
  settings.minBytes = 8;
  settings.maxBytes = 1 << 20;
  settings.step = 2;
  settings.isFactor = true;
  settings.warmups = 5;
  settings.iterations = 20;
  settings.validation = 1;
  log.settings = settings;
  log.ranks = {{0, 0, 17, "node-1", 0, "0000:1b:00", "NVIDIA H200"},
               {1, 0, 18, "node-1", 1, "0000:43:00", "NVIDIA H200"}};
  log.rows = {{1 << 20,
               262144,
               "float",
               "sum",
               -1,
               Half{{25.5}, {41.12}, {41.12}, 0},
               Half{{26}, {40.33}, {40.33}, std::nullopt},
               "",
               {}}};
  log.outOfBounds = 0;
  log.average = Figure{40.725};
  return log;
}

TEST(WriteTable, IsTheTableOfNcclTests) {
  const BenchLog log = example();
  EXPECT_EQ(
      headerText(log, "reciperun version 1", false, false) +
          rowText(log.rows[0]) + footerText(log),
      "# reciperun version 1\n"
      "# Collective test starting: all_reduce_perf\n"
      "# nThread 1 nGpus 1 minBytes 8 maxBytes 1048576 step: 2(factor) warmup "
      "iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0 unalign: 0\n"
      "#\n"
      "# Using devices\n"
      "#  Rank  0 Group  0 Pid     17 on     node-1 device  0 [0000:1b:00] "
      "NVIDIA H200\n"
      "#  Rank  1 Group  0 Pid     18 on     node-1 device  1 [0000:43:00] "
      "NVIDIA H200\n"
      "#\n"
      "#                                                              "
      "out-of-place                       in-place          \n"
      "#       size         count      type   redop    root     time   algbw   "
      "busbw  #wrong     time   algbw   busbw  #wrong \n"
      "#        (B)    (elements)                               (us)  (GB/s)  "
      "(GB/s)             (us)  (GB/s)  (GB/s)         \n"
      "     1048576        262144     float     sum      -1    25.50   41.12   "
      "41.12       0    26.00   40.33   40.33     N/A\n"
      "# Out of bounds values : 0 OK\n"
      "# Avg bus bandwidth    : 40.725 \n"
      "#\n"
      "# Collective test concluded: all_reduce_perf\n"
      "#\n");
}

TEST(WriteTable, IsReadAsItWasWritten) {
  BenchLog log = example();
  log.rows[0].outOfPlace->wrong = 3;
  log.rows[0].timestamp = "2026-07-09 10:00:01";
  log.outOfBounds = 1;
  log.verdict = "FAILED";
  const auto read = readTables(headerText(log, "reciperun", true, true) +
                               rowText(log.rows[0]) + footerText(log));
  ASSERT_EQ(read.size(), 1u);
  const BenchLog& same = read[0];
  EXPECT_EQ(same.test, "all_reduce");
  ASSERT_TRUE(same.settings);
  EXPECT_EQ(same.settings->maxBytes, 1 << 20);
  EXPECT_EQ(same.settings->step, 2);
  EXPECT_TRUE(same.settings->isFactor);
  EXPECT_EQ(same.settings->warmups, 5);
  EXPECT_EQ(same.settings->iterations, 20);
  ASSERT_EQ(same.ranks.size(), 2u);
  EXPECT_EQ(same.ranks[1].pid, 18);
  EXPECT_EQ(same.ranks[1].address, "0000:43:00");
  EXPECT_EQ(same.ranks[1].name, "NVIDIA H200");
  ASSERT_EQ(same.rows.size(), 1u);
  EXPECT_EQ(same.rows[0].count, 262144);
  EXPECT_EQ(same.rows[0].timestamp, "2026-07-09 10:00:01");
  EXPECT_EQ(same.rows[0].outOfPlace->wrong, 3);
  EXPECT_EQ(same.rows[0].inPlace->wrong, std::nullopt);
  EXPECT_DOUBLE_EQ(same.rows[0].inPlace->bus.value, 40.33);
  EXPECT_EQ(same.outOfBounds, 1);
  EXPECT_EQ(same.verdict, "FAILED");
}

TEST(WriteJson, HasTheMembersOfNcclTests) {
  const auto json = nlohmann::json::parse(toJson(example(), false));
  EXPECT_EQ(json["version"], 3);
  EXPECT_EQ(json["nccl_version"], 22809);
  EXPECT_EQ(json["config"]["step_factor"], 2);
  EXPECT_EQ(json["config"]["blocking_collectives"], "false");
  EXPECT_EQ(json["config"]["devices"][1]["device_hex"], "0000:43:00");
  const auto& row = json["results"][0];
  EXPECT_EQ(row["root"], "    -1");
  EXPECT_EQ(row["out_of_place"]["bus_bw"], 41.12);
  EXPECT_EQ(row["out_of_place"]["nwrong"], 0);
  EXPECT_TRUE(row["in_place"]["nwrong"].is_null());
  EXPECT_EQ(json["out_of_bounds"]["okay"], "true");
  EXPECT_EQ(json["average_bus_bandwidth"]["okay"], "unchecked");
  EXPECT_TRUE(
      nlohmann::json::parse(toJson(example(), true))["results"][0]["in_place"]
          .contains("cpu_time"));
}

TEST(WriteJson, IsReadAsItWasWritten) {
  BenchLog log = example();
  log.verdict = "OK";
  const auto same = readJson(toJson(log, false));
  ASSERT_TRUE(same) << same.message();
  EXPECT_EQ(same->test, "all_reduce");
  EXPECT_EQ(same->ranks.size(), 2u);
  EXPECT_EQ(same->settings->minBytes, 8);
  EXPECT_TRUE(same->settings->isFactor);
  EXPECT_EQ(same->rows[0].root, -1);
  EXPECT_EQ(same->rows[0].outOfPlace->algorithm.value, 41.12);
  EXPECT_EQ(same->rows[0].outOfPlace->wrong, 0);
  EXPECT_EQ(same->verdict, "OK");
  EXPECT_DOUBLE_EQ(same->average->value, 40.725);
}

} // namespace
} // namespace reciperun::benchlog
