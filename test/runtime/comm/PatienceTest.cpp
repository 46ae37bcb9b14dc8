// How long a rank sleeps between two polls.

#include "runtime/comm/MpiWait.h"

#include <gtest/gtest.h>

namespace reciperun::comm {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

TEST(Patience, looksWithoutAPauseAtFirst) {
  EXPECT_EQ(Patience::napAfter(microseconds(0)), microseconds(0));
  EXPECT_EQ(Patience::napAfter(microseconds(99)), microseconds(0));
  EXPECT_EQ(Patience::napAfter(microseconds(100)), microseconds(10));
}

TEST(Patience, sleepsForAShareOfTheWait) {
  EXPECT_EQ(Patience::napAfter(microseconds(800)), microseconds(50));
  EXPECT_EQ(Patience::napAfter(milliseconds(80)), milliseconds(5));
  EXPECT_EQ(Patience::napAfter(std::chrono::hours(1)), milliseconds(5));
}

/// A wait of 10 ms polls about 100 times, not thousands of times.
TEST(Patience, looksSeldomInALongWait) {
  Patience::Duration waited = microseconds(100);
  int looks = 0;
  for (; waited < milliseconds(10); ++looks)
    waited += Patience::napAfter(waited);
  EXPECT_LT(looks, 100);
}

} // namespace
} // namespace reciperun::comm
