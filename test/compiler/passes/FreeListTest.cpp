// Best fit: the smallest block that is large enough; the lowest of equal ones.

#include "compiler/passes/memory/FreeList.h"

#include <gtest/gtest.h>

using recipec::passes::FreeList;

namespace {

TEST(FreeListTest, TakesTheSmallestThatIsLargeEnough) {
  FreeList space;
  EXPECT_EQ(space.allocate(40), 0);
  EXPECT_EQ(space.allocate(10), 40);
  EXPECT_EQ(space.allocate(20), 50);
  EXPECT_EQ(space.allocate(10), 70);
  EXPECT_EQ(space.allocate(20), 80);
  EXPECT_EQ(space.allocate(10), 100);
  space.release(0, 40);
  space.release(80, 20);
  space.release(50, 20);
  EXPECT_EQ(space.allocate(15), 50) << "the lowest of two of 20";
  EXPECT_EQ(space.allocate(20), 80);
  EXPECT_EQ(space.allocate(20), 0) << "a part of 40";
  EXPECT_EQ(space.allocate(5), 65) << "what was left of 20";
  EXPECT_EQ(space.peak(), 110);
}

TEST(FreeListTest, MergesNeighboursAndGrowsTheLast) {
  FreeList space;
  for (int64_t offset = 0; offset < 40; offset += 10)
    EXPECT_EQ(space.allocate(10), offset);
  space.release(0, 10);
  space.release(20, 10);
  space.release(10, 10);
  EXPECT_EQ(space.allocate(30), 0);
  space.release(30, 10);
  EXPECT_EQ(space.allocate(25), 30);
  EXPECT_EQ(space.peak(), 55);
}

} // namespace
