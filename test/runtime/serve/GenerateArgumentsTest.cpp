// The command line of `reciperun generate`.

#include "runtime/serve/GenerateArguments.h"

#include <gtest/gtest.h>

namespace reciperun::serve {
namespace {

std::string messageOf(const std::vector<std::string>& arguments) {
  return parseGenerateArguments(arguments).message();
}

TEST(GenerateArguments, ReadsAllOptions) {
  auto parsed =
      parseGenerateArguments({"model", "--prompt", "-hi", "--max-tokens=5",
                              "--temperature", "0.5", "--seed", "9"});
  ASSERT_TRUE(parsed) << parsed.message();
  EXPECT_EQ(parsed->directory, "model");
  ASSERT_EQ(parsed->prompts.size(), 1u);
  EXPECT_EQ(parsed->prompts[0].value, "-hi");
  EXPECT_EQ(parsed->options.maxTokens, 5);
  EXPECT_EQ(parsed->options.temperature, 0.5);
  EXPECT_EQ(parsed->options.seed, 9u);
}

TEST(GenerateArguments, KeepsAllPromptsInOrder) {
  auto parsed = parseGenerateArguments(
      {"--prompt", "a", "--prompt-file", "-", "model", "--json", "--prompt=b"});
  ASSERT_TRUE(parsed) << parsed.message();
  ASSERT_EQ(parsed->prompts.size(), 3u);
  EXPECT_FALSE(parsed->prompts[0].isFile);
  EXPECT_TRUE(parsed->prompts[1].isFile);
  EXPECT_EQ(parsed->prompts[2].value, "b");
  EXPECT_TRUE(parsed->json);
}

TEST(GenerateArguments, ReadsTokenIds) {
  auto parsed = parseGenerateArguments(
      {"model", "--token-ids", "1,20,3", "--logits", "out"});
  ASSERT_TRUE(parsed) << parsed.message();
  EXPECT_EQ(parsed->tokenIds, (std::vector<int32_t>{1, 20, 3}));
}

TEST(GenerateArguments, SaysWhatIsWrong) {
  EXPECT_NE(messageOf({}).find("needs the model's directory"),
            std::string::npos);
  EXPECT_NE(messageOf({"m"}).find("needs `--prompt TEXT`"), std::string::npos);
  EXPECT_NE(messageOf({"m", "n"}).find("not `m` and `n`"), std::string::npos);
  EXPECT_NE(messageOf({"m", "--promt", "x"}).find("no option `--promt`"),
            std::string::npos);
  EXPECT_NE(messageOf({"m", "--prompt"}).find("needs a value"),
            std::string::npos);
  for (const char* value : {"0", "-1", "x", "1x", "", "99999999999999999999"})
    EXPECT_NE(messageOf({"m", "--max-tokens", value}).find("from 1, not `"),
              std::string::npos);
  for (const char* value : {"-0.1", "nan", "inf", "hot"})
    EXPECT_NE(messageOf({"m", "--temperature", value}).find("a number from 0"),
              std::string::npos);
  EXPECT_NE(messageOf({"m", "--token-ids", "1,,2"}).find("`1,,2`"),
            std::string::npos);
  EXPECT_NE(messageOf({"m", "--token-ids", "1"}).find("go together"),
            std::string::npos);
}

} // namespace
} // namespace reciperun::serve
