// Rows hold every document once, within the row's capacity and its limit of
// documents. Shuffling depends only on seed and epoch.

#include "runtime/data/Packing.h"
#include "runtime/data/Random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace reciperun::data {
namespace {

TEST(Packing, putsEachIntoTheFirstRowWithRoom) {
  const RowLayout layout = packFirstFit({0, 1, 2, 3, 4}, {6, 5, 3, 4, 2}, {10});
  // 6+3 | 5+4 | 2 fits neither the first row (1 left) nor the second (1 left).
  ASSERT_EQ(layout.rows(), 3);
  EXPECT_EQ(layout.documents, (std::vector<int64_t>{0, 2, 1, 3, 4}));
  EXPECT_EQ(layout.starts, (std::vector<int64_t>{0, 2, 4, 5}));
}

TEST(Packing, holdsEveryDocumentOnceWithinItsRoom) {
  Random random({7});
  std::vector<int64_t> places(1000);
  for (int64_t& p : places)
    p = 1 + static_cast<int64_t>(random.below(100));
  const std::vector<int64_t> order = shuffledOrder(1000, 3, 0);
  const RowLayout layout = packFirstFit(order, places, {100});
  std::vector<int64_t> seen = layout.documents;
  std::sort(seen.begin(), seen.end());
  std::vector<int64_t> all(1000);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(seen, all);
  for (int64_t r = 0; r < layout.rows(); ++r) {
    int64_t sum = 0;
    for (int64_t document : layout.row(r))
      sum += places[document];
    EXPECT_LE(sum, 100);
    EXPECT_GT(sum, 0);
  }
  // The minimum is sum / 100 rows; first-fit stays close to it.
  const int64_t total = std::accumulate(places.begin(), places.end(), 0);
  EXPECT_LT(layout.rows(), total * 11 / 1000 + 2);
}

TEST(Packing, closesARowOfAsManyDocumentsAsItTakes) {
  const std::vector<int64_t> places = {2, 5, 1, 1, 9, 4};
  const RowLayout layout = packFirstFit({0, 1, 2, 3, 4, 5}, places, {10, 2});
  // 2+5 is closed with 3 left, 1+1 with 8 left; 9 and 4 do not fit together.
  EXPECT_EQ(layout.documents, (std::vector<int64_t>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(layout.starts, (std::vector<int64_t>{0, 2, 4, 5, 6}));
  EXPECT_EQ(layout.rowsOf(2), 2);
  EXPECT_EQ(layout.rowsOf(1), 2);
  EXPECT_EQ(packFirstFit({0, 1, 2}, places, {10, 1}).rows(), 3);
}

TEST(Packing, layOneByOneKeepsTheOrder) {
  const RowLayout layout = layOneByOne({2, 0, 1});
  ASSERT_EQ(layout.rows(), 3);
  EXPECT_EQ(layout.row(0)[0], 2);
  EXPECT_EQ(layout.row(2)[0], 1);
}

TEST(Shuffle, isAFunctionOfSeedAndEpoch) {
  EXPECT_EQ(shuffledOrder(100, 1, 2), shuffledOrder(100, 1, 2));
  EXPECT_NE(shuffledOrder(100, 1, 2), shuffledOrder(100, 1, 3));
  EXPECT_NE(shuffledOrder(100, 1, 2), shuffledOrder(100, 2, 2));
  EXPECT_NE(shuffledOrder(100, 1ull << 40, 2), shuffledOrder(100, 0, 2));
}

TEST(Shuffle, givesTheSameOrderOnEveryMachine) {
  // Recorded from the first run. The C++ standard fixes the generator; the rest
  // is our code.
  EXPECT_EQ(shuffledOrder(8, 0, 0),
            (std::vector<int64_t>{0, 7, 5, 6, 1, 3, 2, 4}));
}

TEST(Shuffle, isEven) {
  // Element 0 is expected 2000 of 10000 times at each of 5 positions. Six
  // standard deviations of the binomial distribution are 240.
  std::vector<int> counts(5);
  for (uint64_t epoch = 0; epoch < 10000; ++epoch) {
    const std::vector<int64_t> order = shuffledOrder(5, 9, epoch);
    ++counts[std::find(order.begin(), order.end(), 0) - order.begin()];
  }
  for (int count : counts)
    EXPECT_NEAR(count, 2000, 240);
}

} // namespace
} // namespace reciperun::data
