// Ranks that work longer than the others of their pipeline stage.

#include "runtime/train/StragglerDetector.h"

#include "test/runtime/plan/SamplePlan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace reciperun::train {
namespace {

/// Detectors of all ranks of a plan, which share values as ranks do.
class StragglerDetectorTest : public testing::Test {
protected:
  /// `stages` x `each` ranks.
  void ranks(int stages, int each) {
    plan.mesh.axes = {{"pp", stages}, {"dp", each}};
    plan.mesh.ranks = stages * each;
    plan.stages.resize(size_t(stages));
    plan.train.straggler = 1.2;
    plan.train.stragglerWindow = 2;
    detectors.clear();
    std::vector<RankPlace> places;
    for (int rank = 0; rank < plan.mesh.ranks; ++rank)
      places.push_back({"a", "", rank});
    for (int rank = 0; rank < plan.mesh.ranks; ++rank)
      detectors.emplace_back(plan, rank, places);
  }

  /// A step in which the ranks compute forward for these seconds; the rest of 9
  /// seconds is communication.
  void step(const std::vector<double>& forward) {
    for (size_t rank = 0; rank < detectors.size(); ++rank) {
      PhaseSeconds seconds = {};
      seconds[size_t(Phase::backward)] = 1;
      seconds[size_t(Phase::forward)] = forward[rank];
      seconds[size_t(Phase::communication)] = 8 - forward[rank];
      detectors[rank].add(seconds);
    }
  }

  /// The times that the last rank gets.
  RankTimes window() {
    constexpr size_t others = 3; // values before
    std::vector<int64_t> shared;
    for (const StragglerDetector& each : detectors) {
      EXPECT_TRUE(each.isDue());
      std::vector<int64_t> values(others, -1);
      each.appendTo(values);
      shared.resize(values.size(), -1);
      for (size_t i = 0; i < values.size(); ++i)
        shared[i] = std::max(shared[i], values[i]);
    }
    RankTimes times;
    for (StragglerDetector& each : detectors)
      times = each.takeWindow(shared.data() + others);
    return times;
  }

  plan::Plan plan;
  std::vector<StragglerDetector> detectors;
};

TEST_F(StragglerDetectorTest, comparesWithTheMedian) {
  ranks(1, 4);
  step({2, 1, 3, 1});
  EXPECT_FALSE(detectors[0].isDue());
  step({2, 3, 5, 1});
  const RankTimes times = window();
  ASSERT_EQ(times.size(), 4u);
  EXPECT_EQ(times[2].seconds, 5);
  EXPECT_EQ(times[0].ratio, 1);
  EXPECT_EQ(times[2].ratio, 5 / 3.0);
  EXPECT_EQ(times[2].peers, 4);
  EXPECT_EQ(times[2].phase, Phase::forward);
  EXPECT_EQ(times[3].ratio, 2 / 3.0);
  const auto changes = detectors[0].changesBy(times);
  ASSERT_EQ(changes.slow.size(), 1u);
  EXPECT_EQ(stragglerText(changes.slow[0], detectors[0].window()),
            "rank 2 (host a) is 1.67x slower than the median of 4 ranks over "
            "the last 2 steps, mostly in forward");
}

TEST_F(StragglerDetectorTest, comparesWithinAStage) {
  ranks(2, 2);
  for (int i = 0; i < 2; ++i)
    step({1, 1, 4, 7});
  const RankTimes times = window();
  EXPECT_EQ(times[1].ratio, 1);
  EXPECT_EQ(times[2].ratio, 1);
  EXPECT_EQ(times[3].ratio, 8 / 5.0);
  EXPECT_EQ(times[3].peers, 2);
  EXPECT_EQ(detectors[0].changesBy(times).slow.size(), 1u);
}

TEST_F(StragglerDetectorTest, tellsChangesOnce) {
  ranks(1, 2);
  const auto changes = [&](const std::vector<double>& forward) {
    step(forward);
    step(forward);
    return detectors[0].changesBy(window());
  };
  EXPECT_TRUE(changes({1, 1.3}).slow.empty());
  EXPECT_EQ(changes({1, 2}).slow.size(), 1u);
  EXPECT_TRUE(changes({1, 3}).slow.empty());
  const auto after = changes({1, 1});
  EXPECT_TRUE(after.slow.empty());
  ASSERT_EQ(after.recovered.size(), 1u);
  EXPECT_EQ(after.recovered[0].rank, 1);
  EXPECT_TRUE(changes({1, 1}).recovered.empty());
}

TEST(RankPlaceTest, namesTheGpu) {
  EXPECT_EQ(textOf(RankPlace{"node7", "0000:1b:00", 2}),
            "host node7, GPU 2 at 0000:1b:00");
}

} // namespace
} // namespace reciperun::train
