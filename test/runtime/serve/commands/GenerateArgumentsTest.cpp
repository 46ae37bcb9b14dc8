// The command line of `reciperun generate`.

#include "runtime/serve/commands/GenerateArguments.h"

#include "runtime/cli/Read.h"

#include <gtest/gtest.h>

namespace reciperun::serve {
namespace {

/// The values of a call, and the message for an invalid one.
struct Call {
  GenerateArguments arguments;
  std::string message;
};

Call call(std::vector<std::string> line) {
  Call made;
  const cli::Program program = {.name = "reciperun",
                                .commands = {describeGenerate(made.arguments)},
                                .version = {}};
  line.insert(line.begin(), "generate");
  if (auto error = cli::read(program, line).error)
    made.message = error->message;
  return made;
}

std::string messageOf(const std::vector<std::string>& line) {
  return call(line).message;
}

TEST(GenerateArguments, ReadsAllOptions) {
  const Call made = call({"model", "--prompt", "-hi", "--max-tokens=5",
                          "--temperature", "0.5", "--seed", "9"});
  EXPECT_EQ(made.message, "");
  EXPECT_EQ(made.arguments.directories, (std::vector<std::string>{"model"}));
  ASSERT_EQ(made.arguments.prompts.size(), 1u);
  EXPECT_EQ(made.arguments.prompts[0].value, "-hi");
  EXPECT_EQ(made.arguments.sampling.maxTokens, 5);
  EXPECT_EQ(made.arguments.sampling.temperature, 0.5);
  EXPECT_EQ(made.arguments.sampling.seed, 9u);
}

TEST(GenerateArguments, ReadsTheFileOfAnswers) {
  const Call made = call({"model", "--prompt", "x", "--output", "a.jsonl",
                          "--resume", "--threads=3"});
  EXPECT_EQ(made.message, "");
  EXPECT_EQ(made.arguments.output, "a.jsonl");
  EXPECT_TRUE(made.arguments.resume);
  EXPECT_EQ(made.arguments.threads, 3);
  EXPECT_NE(messageOf({"m", "--prompt", "x", "--resume"})
                .find("`--resume` needs the `--output`"),
            std::string::npos);
  EXPECT_NE(
      messageOf({"m", "--prompt", "x", "--output", "a", "--resume", "--force"})
          .find("replaces it"),
      std::string::npos);
  EXPECT_NE(
      messageOf({"m", "--token-ids", "1", "--logits", "a", "--output", "b"})
          .find("`--output` takes answers"),
      std::string::npos);
}

TEST(GenerateArguments, KeepsAllPromptsInOrder) {
  const Call made = call({"--prompt", "a", "--prompt-file", "-", "model",
                          "--json", "--prompt=b", "--prompt="});
  EXPECT_EQ(made.message, "");
  ASSERT_EQ(made.arguments.prompts.size(), 4u);
  EXPECT_FALSE(made.arguments.prompts[0].isFile);
  EXPECT_TRUE(made.arguments.prompts[1].isFile);
  EXPECT_EQ(made.arguments.prompts[2].value, "b");
  EXPECT_EQ(made.arguments.prompts[3].value, "");
  EXPECT_TRUE(made.arguments.json);
}

TEST(GenerateArguments, ReadsTokenIds) {
  const Call made = call({"model", "--token-ids", "1,20,3", "--logits", "out"});
  EXPECT_EQ(made.message, "");
  EXPECT_EQ(made.arguments.tokenIds, (std::vector<int32_t>{1, 20, 3}));
}

TEST(GenerateArguments, SaysWhatIsWrong) {
  EXPECT_NE(messageOf({}).find("needs the model's directory"),
            std::string::npos);
  EXPECT_NE(messageOf({"m"}).find("needs `--prompt TEXT`"), std::string::npos);
  EXPECT_NE(messageOf({"m", "n"}).find("`n` is too many"), std::string::npos);
  EXPECT_NE(messageOf({"m", "--promt", "x"}).find("no option `--promt`"),
            std::string::npos);
  for (const char* option : {"--prompt", "--max-tokens", "--max-tokens="})
    EXPECT_NE(messageOf({"m", option}).find("needs a value"),
              std::string::npos);
  for (const char* value : {"0", "-1", "x", "1x", "99999999999999999999"})
    EXPECT_NE(messageOf({"m", "--max-tokens", value})
                  .find("`--max-tokens` takes a whole number"),
              std::string::npos);
  for (const char* value : {"-0.1", "nan", "inf", "hot"})
    EXPECT_NE(messageOf({"m", "--temperature", value})
                  .find("`--temperature` takes a number"),
              std::string::npos);
  EXPECT_NE(messageOf({"m", "--token-ids", "1,,2"}).find("`1,,2`"),
            std::string::npos);
  EXPECT_NE(messageOf({"m", "--token-ids", "1"}).find("go together"),
            std::string::npos);
}

} // namespace
} // namespace reciperun::serve
