// The settings of a run are compared by contents, not by file names.

#include "runtime/train/Settings.h"

#include "test/runtime/checkpoint/TestFolder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>

namespace reciperun::train {
namespace {

using checkpoint::Setting;

plan::Plan planOf(const std::string& data, const std::string& tokenizer) {
  plan::Plan plan;
  plan.data.train = plan::DataSource();
  plan.data.train->kind = "jsonl";
  plan.data.train->path = data;
  plan.data.train->prompt = "question";
  plan.data.train->completion = "answer";
  plan.data.sequence = 64;
  plan.data.tokenizer = tokenizer;
  plan.data.bosToken = 1;
  plan.train.directory = "runs/a";
  plan.train.globalBatch = 8;
  plan.train.learningRate.kind = "cosine";
  plan.train.learningRate.peak = 0.5;
  return plan;
}

std::string valueOf(const std::vector<Setting>& settings,
                    const std::string& name) {
  const auto found = std::ranges::find(settings, name, &Setting::name);
  return found == settings.end() ? "absent" : found->value;
}

/// The texts of the changes between two plans.
std::vector<std::string> between(const plan::Plan& before,
                                 const plan::Plan& now) {
  auto a = settingsOf(before), b = settingsOf(now);
  EXPECT_TRUE(a && b) << a.message() << b.message();
  std::vector<std::string> texts;
  for (const Change& change : changesOf(*a, *b))
    texts.push_back(change.text());
  return texts;
}

class SettingsTest : public testing::Test {
protected:
  checkpoint::TestFolder folder;
  std::string data = folder.write("data.jsonl", "{}\n{}\n").string();
  std::string tokenizer = folder.write("tokenizer.json", "{}").string();
};

TEST_F(SettingsTest, haveTheNamesOfTheRecipe) {
  auto settings = settingsOf(planOf(data, tokenizer));
  ASSERT_TRUE(settings) << settings.message();
  EXPECT_EQ(valueOf(*settings, "data.sequence"), "64");
  EXPECT_EQ(valueOf(*settings, "data.train.prompt"), "\"question\"");
  EXPECT_EQ(valueOf(*settings, "data.bos_token"), "1");
  EXPECT_EQ(valueOf(*settings, "batch.global"), "8");
  EXPECT_EQ(valueOf(*settings, "optimizer.lr.peak"), "0.5");
  EXPECT_EQ(valueOf(*settings, "data.train (contents)").substr(0, 16),
            "1 file, 6 bytes,");
  for (const Setting& setting : *settings) {
    EXPECT_EQ(setting.value.find(folder.path().string()), std::string::npos)
        << setting.name;
    EXPECT_NE(setting.name, "train.directory");
  }
}

TEST_F(SettingsTest, tellWhatChanged) {
  const plan::Plan before = planOf(data, tokenizer);
  EXPECT_TRUE(between(before, before).empty());
  plan::Plan now = before;
  std::swap(now.data.train->prompt, now.data.train->completion);
  now.data.bosToken = -1;
  EXPECT_EQ(between(before, now),
            (std::vector<std::string>{
                "`data.train.prompt`: \"question\" -> \"answer\"",
                "`data.train.completion`: \"answer\" -> \"question\"",
                "`data.bos_token`: 1 -> none"}));
}

TEST_F(SettingsTest, goByTheContentsOfFiles) {
  const plan::Plan before = planOf(data, tokenizer);
  // The same contents under other names.
  const std::string moved = folder.write("b/x.jsonl", "{}\n{}\n").string();
  EXPECT_TRUE(
      between(before, planOf(moved, folder.write("t.json", "{}").string()))
          .empty());
  // The same number of rows and bytes.
  const std::string other = folder.write("y.jsonl", "{}\n[]\n").string();
  const std::vector<std::string> changes =
      between(before, planOf(other, folder.write("u.json", "[]").string()));
  ASSERT_EQ(changes.size(), 2u);
  EXPECT_EQ(changes[0].find("`data.train (contents)`: 1 file, 6 bytes, "), 0u);
  EXPECT_EQ(changes[1].find("`tokenizer`: "), 0u);
}

TEST_F(SettingsTest, refuseWhatCannotBeRead) {
  EXPECT_FALSE(settingsOf(planOf(folder / "none.jsonl", tokenizer)));
}

// Files above 64 MiB are hashed by samples, which include both ends.
TEST_F(SettingsTest, sampleLargeFiles) {
  const std::filesystem::path path = folder.write("large", "first");
  const int64_t size = (int64_t(200) << 20) + 12345;
  std::filesystem::resize_file(path, size); // sparse zeros
  auto before = contentsOf({path.string()});
  ASSERT_TRUE(before) << before.message();
  for (int64_t at : {int64_t(0), size - 1}) {
    std::FILE* file = std::fopen(path.c_str(), "r+b");
    std::fseek(file, long(at), SEEK_SET);
    std::fputc('x', file);
    std::fclose(file);
    auto now = contentsOf({path.string()});
    ASSERT_TRUE(now);
    EXPECT_NE(*now, *before) << at;
    before = now;
  }
}

} // namespace
} // namespace reciperun::train
