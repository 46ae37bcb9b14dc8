// The rows of a metrics file that a resumed run keeps.

#include "runtime/train/metrics/MetricsFile.h"

#include "test/runtime/checkpoint/TestFolder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace reciperun::train {
namespace {

class MetricsFileTest : public testing::Test {
protected:
  const checkpoint::TestFolder folder;
  const std::filesystem::path path = folder / "metrics.jsonl";

  /// Writes steps `first` to `last` of `each` samples, after `samples` samples.
  void write(int64_t samples, int64_t first, int64_t last, int64_t each) {
    auto file = MetricsFile::open(path, samples);
    ASSERT_TRUE(file) << file.message();
    kept = file->keptLosses();
    note = file->note();
    for (int64_t step = first; step <= last; ++step) {
      StepRecord record;
      record.step = step;
      record.samples = samples += each;
      record.loss = double(samples);
      ASSERT_TRUE(file->write(record).isOk());
    }
  }
  int rows() const {
    std::ifstream file(path);
    int count = 0;
    for (std::string row; std::getline(file, row);)
      ++count;
    return count;
  }

  std::vector<double> kept;
  std::string note;
};

TEST_F(MetricsFileTest, keepsWhatLedToTheSamples) {
  write(0, 1, 10, 4);
  EXPECT_EQ(rows(), 10);
  write(32, 9, 10, 4); // repeats the last two
  EXPECT_EQ(kept.size(), 8u);
  EXPECT_EQ(rows(), 10);
  // Twice the batch size: 40 samples are 5 of its steps.
  write(40, 6, 9, 8);
  EXPECT_EQ(kept.size(), 10u);
  write(56, 8, 10, 8);
  EXPECT_EQ(kept, (std::vector<double>{4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 48,
                                       56}));
  EXPECT_EQ(rows(), 15);
  write(0, 1, 2, 4);
  EXPECT_EQ(rows(), 2);
}

TEST_F(MetricsFileTest, keepsARowWithoutALossAndDropsAHalfOne) {
  std::ofstream(path) << R"({"loss": null, "samples": 4})"
                      << "\n"
                      << R"({"loss": "x", "samples": 8})"
                      << "\n"
                      << R"({"loss": 2.5, "samples": 12})"
                      << "\n"
                      << std::string(100000, '[') << "\n"
                      << R"({"loss": 2.5, "samp)";
  write(12, 4, 4, 4);
  EXPECT_EQ(kept, std::vector<double>{2.5});
  EXPECT_EQ(note, "line 4 of `" + path.string() +
                      "` cannot be read as a step's metrics and is left out");
  EXPECT_EQ(rows(), 4);
}

} // namespace
} // namespace reciperun::train
