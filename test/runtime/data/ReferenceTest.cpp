// Compares token ids with those of Hugging Face's `tokenizers` on texts of many
// kinds.
//
// test/transformers/tokenizer_reference.py writes Inputs/NAME/tokenizer.json
// and Inputs/NAME/lines.jsonl, with one {"text", "ids", "decoded"} per line.
// The test compares every folder there.

#include "runtime/data/Tokenizer.h"
#include "test/SourceRoot.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <fstream>

namespace reciperun::data {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> folders() {
  std::vector<std::string> names;
  const fs::path inputs =
      fs::path(RECIPEC_SOURCE_ROOT) / "test/runtime/data/Inputs";
  if (fs::exists(inputs))
    for (const fs::directory_entry& entry : fs::directory_iterator(inputs))
      if (fs::exists(entry.path() / "lines.jsonl"))
        names.push_back(entry.path().string());
  std::sort(names.begin(), names.end());
  return names;
}

class Reference : public testing::TestWithParam<std::string> {};

TEST_P(Reference, givesTheSameIds) {
  const fs::path folder = GetParam();
  const Expected<Tokenizer> tokenizer =
      Tokenizer::read((folder / "tokenizer.json").string());
  if (!tokenizer &&
      tokenizer.message().find("without ICU") != std::string::npos)
    GTEST_SKIP() << tokenizer.message();
  ASSERT_TRUE(tokenizer) << tokenizer.message();
  std::ifstream lines(folder / "lines.jsonl");
  std::string line;
  int count = 0;
  int failures = 0;
  while (std::getline(lines, line) && failures < 10) {
    const nlohmann::json entry = nlohmann::json::parse(line);
    const auto text = entry["text"].get<std::string>();
    const auto due = entry["ids"].get<std::vector<int32_t>>();
    const auto ids = tokenizer->encode(text, /*addSpecial=*/true);
    ASSERT_TRUE(ids) << ids.message();
    EXPECT_EQ(*ids, due) << "line " << count + 1 << ": " << entry["text"];
    EXPECT_EQ(tokenizer->decode(due), entry["decoded"].get<std::string>());
    ++count;
    failures += *ids != due;
  }
  EXPECT_GE(count, 1000);
}

INSTANTIATE_TEST_SUITE_P(Inputs, Reference, testing::ValuesIn(folders()),
                         [](const auto& info) {
                           std::string name = fs::path(info.param).filename();
                           std::replace_if(
                               name.begin(), name.end(),
                               [](char c) { return !std::isalnum(c); }, '_');
                           return name;
                         });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Reference);

} // namespace
} // namespace reciperun::data
