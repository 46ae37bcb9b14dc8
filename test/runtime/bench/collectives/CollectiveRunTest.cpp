// Unit tests for whole runs on one rank, also with a communicator that corrupts
// an element.

#include "runtime/bench/collectives/CollectiveRun.h"

#include "runtime/comm/LocalCommunicator.h"
#include "runtime/device/cpu/CpuDevice.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

namespace reciperun::bench {
namespace {

/// Changes the last byte of what a collective writes to the device's memory.
class CorruptingCommunicator : public comm::LocalCommunicator {
public:
  Communicator& host() override { return right; }
  Status run(const comm::Collective& collective) override {
    RECIPERUN_TRY(LocalCommunicator::run(collective));
    const comm::Tensor& out = collective.receives.empty()
                                  ? collective.out
                                  : collective.receives.back().tensor;
    if (out.present() && out.bytes() > 0)
      out.as<std::byte>()[out.bytes() - 1] ^= std::byte(1);
    return Status::ok();
  }

private:
  comm::LocalCommunicator right;
};

struct RunOutcome {
  Expected<int> code;
  std::string printed;
};

RunOutcome run(const CollectiveArguments& arguments,
               comm::Communicator& communicator, double least = -1) {
  std::string printed;
  CollectiveSurroundings surroundings;
  surroundings.leastBandwidth = least;
  surroundings.environment = {"NCCL_DEBUG=WARN", "HOME=/root",
                              "SLURM_JWT=secret"};
  surroundings.print = [&](const std::string& text) { printed += text; };
  surroundings.failAlone = [](const Status&) {};
  device::CpuDevice device(1);
  auto code =
      runCollectiveBench(arguments, device, communicator, 0, surroundings);
  return {std::move(code), std::move(printed)};
}

CollectiveArguments argumentsOf(CollectiveTest test) {
  CollectiveArguments arguments;
  arguments.test = test;
  arguments.bench.minBytes = 1024;
  arguments.bench.maxBytes = 4096;
  arguments.bench.stepFactor = 2;
  arguments.bench.iterations = 3;
  return arguments;
}

TEST(CollectiveRun, PrintsATableOfEachTest) {
  for (CollectiveTest test : benchlog::collectiveTests()) {
    comm::LocalCommunicator communicator;
    const auto [code, printed] = run(argumentsOf(test), communicator);
    ASSERT_TRUE(code) << code.message();
    EXPECT_EQ(*code, 0) << printed;
    const auto logs = benchlog::readTables(printed);
    ASSERT_EQ(logs.size(), 1u) << printed;
    EXPECT_EQ(logs[0].test, benchlog::nameOf(test));
    ASSERT_EQ(logs[0].rows.size(), 3u) << printed;
    const benchlog::Row& row = logs[0].rows[2];
    EXPECT_EQ(row.size, 4096);
    EXPECT_EQ(row.outOfPlace->wrong, 0);
    EXPECT_EQ(row.inPlace->wrong.has_value(), benchlog::hasInPlaceForm(test));
    EXPECT_EQ(logs[0].outOfBounds, 0);
  }
}

TEST(CollectiveRun, FindsAWrongElementOfEachTest) {
  for (CollectiveTest test : benchlog::collectiveTests()) {
    CorruptingCommunicator communicator;
    const auto [code, printed] = run(argumentsOf(test), communicator);
    ASSERT_TRUE(code) << code.message();
    EXPECT_EQ(*code, 1) << printed;
    const auto logs = benchlog::readTables(printed);
    ASSERT_EQ(logs.size(), 1u) << printed;
    for (const benchlog::Row& row : logs[0].rows)
      EXPECT_EQ(row.outOfPlace->wrong, 1) << printed;
    EXPECT_GE(*logs[0].outOfBounds, 3);
    EXPECT_NE(printed.find("FAILED"), std::string::npos);
  }
}

TEST(CollectiveRun, ChecksOnlyWhenAsked) {
  CollectiveArguments arguments = argumentsOf(CollectiveTest::allReduce);
  arguments.bench.checks = 0;
  CorruptingCommunicator communicator;
  const auto [code, printed] = run(arguments, communicator);
  ASSERT_TRUE(code);
  EXPECT_EQ(*code, 0);
  EXPECT_NE(printed.find("N/A"), std::string::npos) << printed;
  arguments.bench.checks = 4;
  EXPECT_NE(run(arguments, communicator).printed.find("       4\n"),
            std::string::npos);
}

TEST(CollectiveRun, FailsBelowTheLeastBandwidth) {
  comm::LocalCommunicator communicator;
  const auto arguments = argumentsOf(CollectiveTest::broadcast);
  const auto low = run(arguments, communicator, 1e9);
  EXPECT_EQ(*low.code, 1);
  EXPECT_NE(low.printed.find("FAILED"), std::string::npos);
  const auto high = run(arguments, communicator, 1e-9);
  EXPECT_EQ(*high.code, 0);
  EXPECT_EQ(benchlog::readTables(high.printed)[0].verdict, "OK");
}

/// A folder that is removed at the end.
class CollectiveRunFiles : public testing::Test {
protected:
  CollectiveRunFiles() { std::filesystem::create_directory(folder); }
  ~CollectiveRunFiles() override { std::filesystem::remove_all(folder); }

  static std::string textOf(const std::filesystem::path& path) {
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }

  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() /
      ("collectives." + std::to_string(getpid()));
};

TEST_F(CollectiveRunFiles, WritesJsonWithoutSecretsAndKeepsEarlierFiles) {
  comm::LocalCommunicator communicator;
  CollectiveArguments arguments = argumentsOf(CollectiveTest::allGather);
  arguments.outputPath = folder / "run.json";
  EXPECT_EQ(*run(arguments, communicator).code, 0);
  const auto second = run(arguments, communicator);
  EXPECT_TRUE(second.printed.starts_with("# Writing JSON output to " +
                                         arguments.outputPath + ".0\n"))
      << second.printed;
  const std::string json = textOf(folder / "run.json.0");
  EXPECT_EQ(json.find("secret"), std::string::npos) << json;
  EXPECT_EQ(json.find("HOME"), std::string::npos);
  EXPECT_NE(json.find("SLURM_JWT=(hidden)"), std::string::npos);
  const auto log = benchlog::readJson(json);
  ASSERT_TRUE(log) << log.message();
  EXPECT_EQ(log->rows.size(), 3u);
  EXPECT_EQ(log->settings->iterations, 3);
}

TEST_F(CollectiveRunFiles, FailsWhenSlowerThanAnEarlierRun) {
  comm::LocalCommunicator communicator;
  CollectiveArguments arguments = argumentsOf(CollectiveTest::broadcast);
  arguments.comparedPath = folder / "before";
  std::ofstream(arguments.comparedPath)
      << "1024 256 float none 0 0.1 1e9 1e9 0 0.1 1e-9 1e-9 0\n";
  const auto slower = run(arguments, communicator);
  ASSERT_TRUE(slower.code) << slower.code.message();
  EXPECT_EQ(*slower.code, 1);
  EXPECT_NE(slower.printed.find("# 1 of 2 measurements are slower"),
            std::string::npos)
      << slower.printed;
  arguments.tolerance = 100;
  EXPECT_EQ(*run(arguments, communicator).code, 0);
}

TEST_F(CollectiveRunFiles, FailsBeforeItMeasures) {
  comm::LocalCommunicator communicator;
  CollectiveArguments arguments = argumentsOf(CollectiveTest::broadcast);
  arguments.comparedPath = folder / "none";
  EXPECT_FALSE(run(arguments, communicator).code.status().isOk());
  arguments.comparedPath.clear();
  arguments.outputPath = folder / "missing" / "run.json";
  EXPECT_NE(run(arguments, communicator).code.message().find("written"),
            std::string::npos);
  arguments.outputPath.clear();
  arguments.root = 1;
  EXPECT_EQ(run(arguments, communicator).code.message(),
            "`--root` = 1 is no rank of a job of 1; ranks count from 0");
  arguments.root = 0;
  arguments.bench.graph = 1;
  EXPECT_NE(run(arguments, communicator).code.message().find("needs a GPU"),
            std::string::npos);
}

TEST(DescribingVariables, KeepsWhatDescribesTheRun) {
  EXPECT_EQ(describingVariables({"PATH=/bin", "NCCL_ALGO=Ring",
                                 "AWS_SECRET_ACCESS_KEY=x", "NCCL_AUTH=y",
                                 "CUDA_VISIBLE_DEVICES=0,1"}),
            (std::vector<std::string>{"CUDA_VISIBLE_DEVICES=0,1",
                                      "NCCL_ALGO=Ring", "NCCL_AUTH=(hidden)"}));
}

} // namespace
} // namespace reciperun::bench
