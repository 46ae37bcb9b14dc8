// The table and the JSON have the same numbers under the agreed names.

#include "runtime/serve/bench/BenchReport.h"

#include "runtime/base/InputFile.h"
#include "test/runtime/Says.h"
#include "test/runtime/checkpoint/TestFolder.h"

#include <nlohmann/json.hpp>

#include <gtest/gtest.h>

namespace reciperun::serve {
namespace {

BenchStatistics someStatistics() {
  BenchStatistics statistics;
  statistics.completed = 3;
  statistics.failed = 1;
  statistics.firstError = "too long \xFF";
  statistics.inputTokens = 30;
  statistics.outputTokens = 12;
  statistics.seconds = 2;
  statistics.requestThroughput = 1.5;
  statistics.outputThroughput = 6;
  statistics.totalThroughput = 21;
  statistics.ttft = summarize(std::vector<double>{10, 20, 30});
  return statistics;
}

TEST(BenchReport, TheTableHasTheNamesOfTrtllmBench) {
  const std::string table = benchTable(someStatistics(), {});
  for (const char* name :
       {"Request Throughput (req/sec)", "Total Output Throughput (tokens/sec)",
        "Total Token Throughput (tokens/sec)",
        "Per User Output Throughput (tps/user)",
        "Per GPU Output Throughput (tps/gpu)",
        "Per User Output Speed [1/TPOT] (tps/user)", "Total Latency (ms)",
        "Average request latency (ms)", "TTFT ", "TPOT ", "ITL "})
    EXPECT_PRED2(says, table, name);
  EXPECT_PRED2(says, table,
               "        MIN        MAX        AVG        P50        P90        "
               "P95        P99\n");
  EXPECT_PRED2(says, table,
               "TTFT                    10.00      30.00      20.00      20.00 "
               "     28.00      29.00      29.80\n");
  EXPECT_PRED2(says, table, "3 completed, 1 failed\n");
  EXPECT_PRED2(says, table, " unlimited\n");
}

TEST(BenchReport, TheJsonHasAllNumbers) {
  BenchSettings settings;
  settings.model = "models/tiny";
  settings.load.concurrency = 8;
  const auto json =
      nlohmann::json::parse(benchJson(someStatistics(), settings));
  EXPECT_EQ(json["settings"]["model"], "models/tiny");
  EXPECT_EQ(json["settings"]["concurrency"], 8);
  EXPECT_TRUE(json["settings"]["dataset"].is_null());
  EXPECT_TRUE(json["settings"]["request_rate"].is_null());
  EXPECT_EQ(json["requests"]["completed"], 3);
  EXPECT_EQ(json["requests"]["first_error"], "too long \uFFFD");
  EXPECT_EQ(json["throughput"]["output_tokens_per_second"], 6);
  EXPECT_EQ(json["total_latency_ms"], 2000);
  for (const char* name : {"min", "max", "avg", "p50", "p90", "p95", "p99"})
    EXPECT_TRUE(json["itl_ms"].contains(name)) << name;
  EXPECT_EQ(json["ttft_ms"]["p50"], 20);
  EXPECT_EQ(json["ttft_ms"]["count"], 3);
}

TEST(BenchReport, IsWrittenToAFile) {
  checkpoint::TestFolder folder;
  const std::string path = (folder / "report.json").string();
  EXPECT_TRUE(writeReport(path, "a long text").isOk());
  EXPECT_TRUE(writeReport(path, "text").isOk());
  EXPECT_EQ(*readTextFile(path), "text");
  EXPECT_PRED2(says, writeReport((folder / "no/such").string(), "").message(),
               "no/such`: No such file or directory");
  EXPECT_PRED2(says, writeReport("/dev/full", "text").message(),
               "cannot write the report to `/dev/full`: No space left");
}

} // namespace
} // namespace reciperun::serve
