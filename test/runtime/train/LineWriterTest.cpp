// Lines reach their file however slow it is, and the caller does not wait.

#include "runtime/train/metrics/LineWriter.h"

#include "test/runtime/checkpoint/TestFolder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <thread>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace reciperun::train {
namespace {

std::string lineOf(int number) {
  return std::to_string(number) + std::string(100, '.');
}

class LineWriterTest : public testing::Test {
protected:
  std::string content() const { return checkpoint::readBytes(path); }

  const checkpoint::TestFolder folder;
  const std::filesystem::path path = folder / "lines";
};

TEST_F(LineWriterTest, linesAreThereOnceAwaited) {
  for (auto mode : {LineWriter::Mode::truncate, LineWriter::Mode::append,
                    LineWriter::Mode::truncate}) {
    const std::string before =
        mode == LineWriter::Mode::append ? content() : "";
    auto lines = LineWriter::open(path, mode);
    ASSERT_TRUE(lines) << lines.message();
    EXPECT_TRUE((*lines)->wait().isOk());
    EXPECT_EQ(content(), before);
    ASSERT_TRUE((*lines)->write("one").isOk());
    EXPECT_TRUE((*lines)->wait().isOk());
    EXPECT_EQ(content(), before + "one\n");
    ASSERT_TRUE((*lines)->write("two").isOk());
    ASSERT_TRUE((*lines)->write("three").isOk());
    lines->reset();
    EXPECT_EQ(content(), before + "one\ntwo\nthree\n");
  }
}

// A pipe holds 64 KiB; its reader starts after all lines have been given.
TEST_F(LineWriterTest, whoGivesLinesWaitsForNoReader) {
  constexpr int count = 10'000;
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  const int reader = open(path.c_str(), O_RDONLY | O_NONBLOCK);
  ASSERT_GE(reader, 0);
  auto lines = LineWriter::open(path, LineWriter::Mode::append);
  ASSERT_TRUE(lines) << lines.message();
  for (int i = 0; i < count; ++i)
    ASSERT_TRUE((*lines)->write(lineOf(i)).isOk());
  ASSERT_EQ(fcntl(reader, F_SETFL, 0), 0);
  std::string seen;
  std::thread reading([&] {
    char room[4096];
    for (ssize_t got; (got = read(reader, room, sizeof room)) > 0;)
      seen.append(room, size_t(got));
  });
  EXPECT_TRUE((*lines)->wait().isOk());
  lines->reset();
  reading.join();
  close(reader);
  std::string wanted;
  for (int i = 0; i < count; ++i)
    wanted += lineOf(i) + '\n';
  EXPECT_TRUE(seen == wanted) << seen.size() << " of " << wanted.size();
}

TEST_F(LineWriterTest, aFailureIsTold) {
  EXPECT_FALSE(LineWriter::open("/nowhere/lines", LineWriter::Mode::append));
  auto lines = LineWriter::open("/dev/full", LineWriter::Mode::append);
  ASSERT_TRUE(lines) << lines.message();
  ASSERT_TRUE((*lines)->write("one").isOk());
  const std::string message =
      "cannot write `/dev/full`: No space left on device";
  EXPECT_EQ((*lines)->wait().message(), message);
  EXPECT_EQ((*lines)->write("two").message(), message);
}

} // namespace
} // namespace reciperun::train
