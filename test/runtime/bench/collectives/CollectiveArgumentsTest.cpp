// Unit tests for the command line, with nccl-tests' short and long options.

#include "runtime/bench/collectives/CollectiveArguments.h"

#include "runtime/cli/Read.h"

#include <gtest/gtest.h>

namespace reciperun::bench {
namespace {

struct ReadArguments {
  CollectiveArguments arguments;
  std::string error; // with its help
};

ReadArguments readCall(CollectiveTest test, std::vector<std::string> words) {
  ReadArguments result;
  result.arguments.test = test;
  cli::Program program{.name = "reciperun", .commands = {}};
  program.commands.push_back(
      {.name = "bench",
       .options = collectiveOptions(result.arguments),
       .operands = {},
       .check = [&] { return checkCollectiveArguments(result.arguments); }});
  words.insert(words.begin(), "bench");
  const cli::Reading reading = cli::read(program, words);
  if (reading.error)
    result.error = cli::toText(*reading.error);
  return result;
}

TEST(CollectiveArguments, TakesNcclTestsShortOptions) {
  const auto [arguments, error] = readCall(
      CollectiveTest::allReduce,
      {"-b", "8",   "-e",       "4G",       "-f", "2",  "-g", "1",  "-t",
       "1",  "-n",  "50",       "-w",       "5",  "-m", "4",  "-c", "0",
       "-o", "max", "-d",       "bfloat16", "-G", "0",  "-a", "3",  "-C",
       "-S", "-J",  "out.json", "-N",       "2",  "-z", "1",  "-T", "60"});
  EXPECT_EQ(error, "");
  const CollectiveBenchOptions& bench = arguments.bench;
  EXPECT_EQ(bench.minBytes, 8);
  EXPECT_EQ(bench.maxBytes, int64_t(4) << 30);
  EXPECT_EQ(bench.stepFactor, 2);
  EXPECT_EQ(bench.iterations, 50);
  EXPECT_EQ(bench.warmups, 5);
  EXPECT_EQ(bench.aggregated, 4);
  EXPECT_EQ(bench.checks, 0);
  EXPECT_EQ(bench.blocking, 1);
  EXPECT_EQ(bench.average, CollectiveBenchOptions::Average::most);
  EXPECT_TRUE(bench.measuresHost);
  EXPECT_TRUE(bench.hasTimestamps);
  EXPECT_EQ(arguments.outputPath, "out.json");
  EXPECT_EQ(arguments.cycles, 2);
  EXPECT_EQ(arguments.timeout, 60);
  ASSERT_EQ(arguments.kinds(4).size(), 1u);
  EXPECT_EQ(arguments.kinds(4)[0].reduction, comm::Reduction::max);
  EXPECT_EQ(arguments.kinds(4)[0].type->name, "bfloat16");
  EXPECT_EQ(bench.sizes().size(), 30u);
}

TEST(CollectiveArguments, TakesNcclTestsLongOptions) {
  const auto [arguments, error] =
      readCall(CollectiveTest::broadcast,
               {"--minbytes", "1M", "--maxbytes=3M", "--stepbytes", "1M",
                "--root", "all", "--datatype", "all", "--iters", "1"});
  EXPECT_EQ(error, "");
  EXPECT_EQ(arguments.bench.sizes(),
            (std::vector<int64_t>{1 << 20, 2 << 20, 3 << 20}));
  EXPECT_EQ(arguments.kinds(2).size(), 24u); // 12 types, 2 roots
}

TEST(CollectiveArguments, AllOperatorsAndTypesOfAReduction) {
  const auto [arguments, error] =
      readCall(CollectiveTest::reduce, {"-o", "all", "-d", "all"});
  EXPECT_EQ(error, "");
  EXPECT_EQ(arguments.kinds(2).size(), 20u); // 5 types, 4 operators
}

TEST(CollectiveArguments, RefusesWhatIsNotOffered) {
  const auto error = [](std::vector<std::string> words) {
    return readCall(CollectiveTest::allReduce, std::move(words)).error;
  };
  EXPECT_EQ(error({"-b", "8Q"}),
            "error: `--minbytes` takes a size, not `8Q`\n"
            "help: write bytes, or K, M and G for 1024, 1024^2 and 1024^3 of "
            "them: `--minbytes 64M`\n");
  EXPECT_EQ(error({"-b", "1G"}),
            "error: `--minbytes` = 1073741824 is above `--maxbytes` = "
            "33554432\nhelp: give both: `-b 8 -e 128M`\n");
  EXPECT_EQ(error({"-g", "8"}),
            "error: a rank has one thread and one GPU: `--nthreads` and "
            "`--ngpus` are 1\nhelp: start 8 ranks a process of nccl-tests: "
            "`mpirun -np 8 reciperun bench all_reduce`\n");
  EXPECT_NE(error({"-o", "avg"}).find("measure `sum`"), std::string::npos);
  EXPECT_NE(error({"-o", "or"}).find("`--op` is `sum`"), std::string::npos);
  EXPECT_NE(error({"-d", "half"}).find("`bfloat16`"), std::string::npos);
  EXPECT_NE(error({"-d", "float64"}).find("`--datatype` is"),
            std::string::npos);
  EXPECT_NE(error({"-r", "-1"}).find("takes a rank or `all`"),
            std::string::npos);
  EXPECT_NE(error({"-b", "0", "-f", "2"}).find("cannot multiply"),
            std::string::npos);
  EXPECT_NE(error({"-b", "8", "-i", "0"}).find("no size follows"),
            std::string::npos);
}

} // namespace
} // namespace reciperun::bench
