// Unit tests for the counts and the formulas of nccl-tests.

#include "runtime/benchlog/CollectiveTest.h"

#include <gtest/gtest.h>

namespace reciperun::benchlog {
namespace {

TEST(CollectiveTest, FindsTheNamesOfNcclTests) {
  EXPECT_EQ(findTest("all_reduce"), CollectiveTest::allReduce);
  EXPECT_EQ(findTest("all_reduce_perf"), CollectiveTest::allReduce);
  EXPECT_EQ(findTest("/opt/nccl_tests/build/alltoall_perf"),
            CollectiveTest::allToAll);
  EXPECT_EQ(findTest("./sendrecv_perf_mpi"), CollectiveTest::sendRecv);
  EXPECT_EQ(findTest("all"), std::nullopt);
  for (CollectiveTest each : collectiveTests())
    EXPECT_EQ(findTest(nameOf(each)), each);
}

/// Of 8 ranks, 1 MiB of floats.
TEST(CollectiveTest, CountsTheElementsOfARank) {
  struct Case {
    CollectiveTest test;
    Counts counts;
  };
  const int64_t whole = 262'144, part = whole / 8;
  const Case cases[] = {
      {CollectiveTest::allReduce, {whole, whole, whole}},
      {CollectiveTest::allGather, {part, whole, part}},
      {CollectiveTest::reduceScatter, {whole, part, part}},
      {CollectiveTest::broadcast, {whole, whole, whole}},
      {CollectiveTest::reduce, {whole, whole, whole}},
      {CollectiveTest::allToAll, {whole, whole, part}},
      {CollectiveTest::sendRecv, {whole, whole, whole}},
      {CollectiveTest::gather, {part, whole, part}},
      {CollectiveTest::scatter, {whole, part, part}},
      {CollectiveTest::hypercube, {part, whole, part}},
  };
  for (const auto& [test, counts] : cases) {
    const Counts found = countsOf(test, 1 << 20, 4, 8);
    EXPECT_EQ(found.sent, counts.sent) << nameOf(test);
    EXPECT_EQ(found.received, counts.received) << nameOf(test);
    EXPECT_EQ(found.counted, counts.counted) << nameOf(test);
    EXPECT_EQ(found.largest(), whole) << nameOf(test);
  }
}

TEST(CollectiveTest, PartsAreMultiplesOf16Bytes) {
  EXPECT_EQ(countsOf(CollectiveTest::allGather, 8, 4, 8).largest(), 0);
  EXPECT_EQ(countsOf(CollectiveTest::allGather, 1000, 4, 8).counted, 28);
  EXPECT_EQ(countsOf(CollectiveTest::allGather, 1000, 1, 8).counted, 112);
  EXPECT_EQ(countsOf(CollectiveTest::allReduce, 10, 4, 8).counted, 2);
}

/// A microsecond for a count of 1000 floats on 8 ranks.
TEST(CollectiveTest, ComputesBandwidths) {
  struct Case {
    CollectiveTest test;
    double algorithm, bus;
  };
  const Case cases[] = {
      {CollectiveTest::allReduce, 4, 7},
      {CollectiveTest::allGather, 32, 28},
      {CollectiveTest::reduceScatter, 32, 28},
      {CollectiveTest::broadcast, 4, 4},
      {CollectiveTest::reduce, 4, 4},
      {CollectiveTest::allToAll, 32, 28},
      {CollectiveTest::sendRecv, 4, 4},
      {CollectiveTest::gather, 32, 28},
      {CollectiveTest::scatter, 32, 28},
      {CollectiveTest::hypercube, 28, 28},
  };
  for (const auto& [test, algorithm, bus] : cases) {
    const Bandwidth found = bandwidthOf(test, 1000, 4, 8, 1e-6);
    EXPECT_DOUBLE_EQ(found.algorithm, algorithm) << nameOf(test);
    EXPECT_DOUBLE_EQ(found.bus, bus) << nameOf(test);
  }
}

TEST(CollectiveTest, RecoversTheRanks) {
  for (int ranks : {1, 2, 8, 96, 1440}) {
    for (CollectiveTest test :
         {CollectiveTest::allReduce, CollectiveTest::allGather}) {
      const auto found = ranksOfFactor(test, busFactor(test, ranks));
      ASSERT_TRUE(found);
      EXPECT_NEAR(*found, ranks, 1e-6 * ranks);
    }
  }
  EXPECT_FALSE(ranksOfFactor(CollectiveTest::broadcast, 1));
  EXPECT_FALSE(ranksOfFactor(CollectiveTest::allReduce, 2));
}

} // namespace
} // namespace reciperun::benchlog
