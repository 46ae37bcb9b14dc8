// The events of a run that was killed and resumed.

#include "runtime/train/metrics/RunEvents.h"

#include "test/runtime/checkpoint/TestFolder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace reciperun::train {
namespace {

class RunEventsTest : public testing::Test {
protected:
  const checkpoint::TestFolder folder;
  const std::filesystem::path path = folder / "events.jsonl";

  void write(LineWriter::Mode mode, const RunEvent& event) {
    auto file = RunEventsFile::open(path, mode);
    ASSERT_TRUE(file) << file.message();
    before = file->earlier().size();
    ASSERT_TRUE(file->write(event).isOk());
  }

  size_t before = 0;
};

TEST_F(RunEventsTest, followAnIncompleteLine) {
  write(LineWriter::Mode::truncate, {.kind = "start", .time = 1.5});
  std::ofstream(path, std::ios::app) << R"({"event":"checkpoint","ti)";
  write(LineWriter::Mode::append,
        {.kind = "resume", .time = 2, .step = 3, .checkpoint = "a\xff\"b"});
  EXPECT_EQ(before, 1u);
  auto read = readRunEvents(path);
  ASSERT_TRUE(read) << read.message();
  ASSERT_EQ(read->size(), 2u);
  EXPECT_EQ(read->front().kind, "start");
  EXPECT_EQ(read->front().time, 1.5);
  EXPECT_EQ(read->back().step, 3);
  EXPECT_EQ(read->back().checkpoint, "a\uFFFD\"b");
  write(LineWriter::Mode::truncate, {.kind = "start", .time = 4});
  EXPECT_EQ(readRunEvents(path)->size(), 1u);
}

TEST_F(RunEventsTest, needAKindATimeAndAStep) {
  EXPECT_FALSE(parseRunEvent(R"({"event":"end","time":1})"));
  EXPECT_FALSE(parseRunEvent(R"({"event":"end","step":1})"));
  EXPECT_FALSE(parseRunEvent(R"({"time":1,"step":1})"));
  EXPECT_FALSE(parseRunEvent("[]"));
  const RunEvent spike{
      .kind = "spike", .time = 1, .step = 2, .loss = 8.5, .usual = 2.25};
  EXPECT_EQ(textOf(spike), R"({"event":"spike","time":1.0,"step":2,"loss":8.5,)"
                           R"("usual":2.25})");
  const RunEvent slow{.kind = "straggler",
                      .time = 1,
                      .step = 2,
                      .rank = 0,
                      .host = "a",
                      .ratio = 1.5};
  const std::optional<RunEvent> again = parseRunEvent(textOf(slow));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->rank, 0);
  EXPECT_EQ(again->host, "a");
  EXPECT_EQ(again->ratio, 1.5);
  const std::optional<RunEvent> read = parseRunEvent(textOf(spike));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->loss, 8.5);
  EXPECT_EQ(read->usual, 2.25);
}

TEST_F(RunEventsTest, areNoneWithoutAFile) {
  auto read = readRunEvents(folder / "none");
  ASSERT_TRUE(read) << read.message();
  EXPECT_TRUE(read->empty());
}

} // namespace
} // namespace reciperun::train
