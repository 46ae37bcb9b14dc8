// The command line of `reciperun bench serve`.

#include "runtime/serve/bench/BenchArguments.h"

#include "runtime/cli/Read.h"
#include "test/runtime/Says.h"

#include <gtest/gtest.h>

namespace reciperun::serve {
namespace {

struct BenchCall {
  BenchArguments arguments;
  std::string message;
};

BenchCall callWith(std::vector<std::string> line) {
  BenchCall made;
  const cli::Program program = {
      .name = "reciperun",
      .commands = {{.name = "bench",
                    .subcommands = {describeBenchServe(made.arguments)}}},
      .version = {}};
  line.insert(line.begin(), {"bench", "serve"});
  if (auto error = cli::read(program, line).error)
    made.message = error->message;
  return made;
}

TEST(BenchArguments, ReadsAllOptions) {
  const BenchCall made = callWith(
      {"model", "--requests", "9", "--input-tokens=64", "--output-tokens", "32",
       "--concurrency", "4", "--request-rate", "2.5", "--warmup", "0", "--seed",
       "3", "--threads", "2", "--report-json", "out.json"});
  EXPECT_EQ(made.message, "");
  EXPECT_EQ(made.arguments.directories, (std::vector<std::string>{"model"}));
  EXPECT_EQ(made.arguments.requests, 9);
  EXPECT_EQ(made.arguments.inputTokens, 64);
  EXPECT_EQ(made.arguments.outputTokens, 32);
  EXPECT_EQ(made.arguments.concurrency, 4);
  EXPECT_EQ(made.arguments.requestRate, 2.5);
  EXPECT_EQ(made.arguments.warmup, 0);
  EXPECT_EQ(made.arguments.seed, 3u);
  EXPECT_EQ(made.arguments.threads, 2);
  EXPECT_EQ(made.arguments.reportPath, "out.json");
  EXPECT_EQ(callWith({"model", "--dataset", "a.jsonl", "--requests=5"}).message,
            "");
}

TEST(BenchArguments, SayWhatIsWrong) {
  EXPECT_PRED2(says, callWith({}).message, "needs the model's directory");
  EXPECT_PRED2(
      says, callWith({"m", "--dataset", "a.jsonl", "--input-tokens=5"}).message,
      "those of `--dataset` have their own lengths");
  EXPECT_PRED2(says, callWith({"m", "--concurrency", "0"}).message,
               "`--concurrency` takes a whole number from 1, not `0`");
  EXPECT_PRED2(says, callWith({"m", "--request-rate", "-1"}).message,
               "`--request-rate` takes a number from 0");
}

} // namespace
} // namespace reciperun::serve
