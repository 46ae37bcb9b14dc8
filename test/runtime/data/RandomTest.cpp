// Permutations that are functions of a seed and an epoch.

#include "runtime/data/Random.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

namespace reciperun::data {
namespace {

std::vector<int64_t> orderOf(int64_t count, uint64_t seed, uint64_t epoch) {
  std::vector<int64_t> order;
  for (int64_t i = 0; i < count; ++i)
    order.push_back(shuffledPlace(i, count, seed, epoch));
  return order;
}

TEST(RandomTest, shuffledPlacesAreEachNumberOnce) {
  for (int64_t count : {1, 2, 3, 5, 16, 17, 100, 1023, 1024, 1025}) {
    std::vector<int64_t> order = orderOf(count, 7, 3);
    std::sort(order.begin(), order.end());
    std::vector<int64_t> all(order.size());
    std::iota(all.begin(), all.end(), 0);
    EXPECT_EQ(order, all) << count;
  }
}

TEST(RandomTest, shuffledPlacesDependOnSeedAndEpoch) {
  EXPECT_EQ(orderOf(100, 7, 3), orderOf(100, 7, 3));
  EXPECT_NE(orderOf(100, 7, 3), orderOf(100, 7, 4));
  EXPECT_NE(orderOf(100, 7, 3), orderOf(100, 8, 3));
  EXPECT_NE(orderOf(100, 7, 4), orderOf(100, 8, 3));
}

/// Counts the position of each of eight elements over many seeds. A chi-squared
/// with 49 degrees of freedom exceeds 85.4 once in a thousand.
TEST(RandomTest, shuffledPlacesAreEven) {
  constexpr int64_t count = 8, seeds = 8000;
  std::vector<double> seen(count * count);
  for (uint64_t seed = 0; seed < seeds; ++seed)
    for (int64_t i = 0; i < count; ++i)
      seen[size_t(i * count + shuffledPlace(i, count, seed, 0))] += 1;
  const double expected = double(seeds) / count;
  double squares = 0;
  for (double times : seen)
    squares += (times - expected) * (times - expected) / expected;
  EXPECT_LT(squares, 85.4);
}

TEST(RandomTest, shuffledPlacesOfManyNumbersTakeNoList) {
  const int64_t count = int64_t{3} << 40;
  std::set<int64_t> found;
  for (int64_t i = 0; i < 1000; ++i) {
    const int64_t number = shuffledPlace(count - 1 - i, count, 1, 0);
    EXPECT_GE(number, 0);
    EXPECT_LT(number, count);
    found.insert(number);
  }
  EXPECT_EQ(found.size(), 1000u);
}

} // namespace
} // namespace reciperun::data
