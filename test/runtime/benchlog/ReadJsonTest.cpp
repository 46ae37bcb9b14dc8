// Unit tests for reading JSON that other programs wrote.

#include "runtime/benchlog/BenchLog.h"

#include <gtest/gtest.h>

namespace reciperun::benchlog {
namespace {

TEST(ReadJson, ReadsVersion2WithoutASecondHalf) {
  const auto log = readJson(R"({
    "version": 2,
    "args": ["./build/all_gather_perf", "-b", "8"],
    "results": [{"size": 1024, "count": 32, "type": "float", "redop": "none",
                 "root": "    -1", "out_of_place": null,
                 "in_place": {"time": 12.5, "alg_bw": 0.08, "bus_bw": 0.07,
                              "nwrong": 0.000000}}],
    "average_bus_bandwidth": {"bandwidth": "nan", "okay": "unchecked"}})");
  ASSERT_TRUE(log) << log.message();
  EXPECT_EQ(log->test, "all_gather");
  ASSERT_EQ(log->rows.size(), 1u);
  EXPECT_FALSE(log->rows[0].outOfPlace);
  EXPECT_EQ(log->rows[0].inPlace->microseconds.value, 12.5);
  EXPECT_EQ(log->rows[0].root, -1);
  EXPECT_FALSE(log->settings);
  EXPECT_EQ(log->verdict, "");
}

TEST(ReadJson, RefusesOtherJson) {
  EXPECT_EQ(readJson("{\"a\": 1}").message(),
            "the JSON has no list `results`: it is not of nccl-tests' `-J` or "
            "of `reciperun bench`");
  EXPECT_FALSE(readJson("{\"results\": [").status().isOk());
  EXPECT_FALSE(readJson("[]").status().isOk());
}

TEST(ReadBenchLogs, TellsJsonFromATable) {
  const auto json = readBenchLogs("\n {\"results\": []}");
  ASSERT_TRUE(json) << json.message();
  EXPECT_EQ(json->size(), 1u);
  const auto table = readBenchLogs("no table\n");
  ASSERT_TRUE(table);
  EXPECT_TRUE(table->empty());
}

} // namespace
} // namespace reciperun::benchlog
