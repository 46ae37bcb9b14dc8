// Unit tests for the patterns: results are exact in every order of the ranks,
// and any change of an element is found.

#include "runtime/bench/collectives/Patterns.h"

#include "runtime/comm/Reduce.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace reciperun::bench {
namespace {

using comm::Reduction;

constexpr Reduction reductions[] = {Reduction::sum, Reduction::max,
                                    Reduction::min, Reduction::product};

std::vector<std::byte> filled(const Column& column, int64_t elements,
                              int64_t elementBytes, uint64_t seed) {
  std::vector<std::byte> bytes(size_t(elements * elementBytes));
  fillPattern({0, elements, &column, 0}, seed, 0, elementBytes, bytes);
  return bytes;
}

/// Reduces in two orders, rounding to the type after each rank as NCCL does.
void expectExact(const ElementType& type, Reduction reduction, int ranks,
                 bool isReversed) {
  constexpr int64_t elements = 5000;
  const int64_t size = type.bytes();
  std::vector<std::byte> total, pair(size_t(2 * elements * size));
  for (int i = 0; i < ranks; ++i) {
    const int rank = isReversed ? ranks - 1 - i : i;
    const auto own =
        filled(termColumn(type, reduction, ranks, rank), elements, size, 3);
    if (total.empty()) {
      total = own;
      continue;
    }
    std::ranges::copy(total, pair.begin());
    std::ranges::copy(own, pair.begin() + elements * size);
    comm::reduceInRankOrder(type.carrier, reduction, pair.data(),
                            elements * size, 2, elements, total.data());
  }
  const Column result = resultColumn(type, reduction, ranks);
  EXPECT_EQ(countWrong({0, elements, &result, 0}, 3, 0, size, total), 0)
      << type.name << ", reduction " << int(reduction) << ", " << ranks
      << " ranks";
}

TEST(Patterns, ReductionsAreExactInEveryOrder) {
  for (const ElementType& type : elementTypes())
    if (type.isReduced)
      for (Reduction reduction : reductions)
        for (int ranks : {1, 2, 7, 96})
          for (bool isReversed : {false, true})
            expectExact(type, reduction, ranks, isReversed);
}

/// More ranks than bf16 has exact whole numbers: some give zero.
TEST(Patterns, ReductionsOfManyRanksAreExact) {
  for (const char* name : {"bfloat16", "float"})
    for (Reduction reduction : reductions)
      expectExact(*findElementType(name), reduction, 1440, false);
}

/// The sum of few terms is not mostly zero, and depends on each rank.
TEST(Patterns, EveryRankMatters) {
  const ElementType& type = *findElementType("bfloat16");
  const Column sum = resultColumn(type, Reduction::sum, 8);
  EXPECT_LT(std::ranges::count(sum, uint64_t(0)), 100);
  for (int rank = 0; rank < 8; ++rank) {
    const Column terms = termColumn(type, Reduction::sum, 8, rank);
    EXPECT_LT(std::ranges::count(terms, uint64_t(0)), 100) << rank;
  }
}

TEST(Patterns, FindsAChangedElementOfEachSize) {
  const Column column = movedColumn(5);
  for (int64_t size : {1, 2, 4, 8}) {
    auto bytes = filled(column, 1000, size, 0);
    const Segment segment{0, 1000, &column, 0};
    EXPECT_EQ(countWrong(segment, 0, 0, size, bytes), 0);
    bytes[size_t(700 * size)] ^= std::byte(1);
    EXPECT_EQ(countWrong(segment, 0, 0, size, bytes), 1) << size;
  }
}

/// Elements of another index, rank or call are nearly all wrong.
TEST(Patterns, FindsMisplacedElements) {
  const Column own = movedColumn(1), other = movedColumn(2);
  const auto bytes = filled(own, 10'000, 4, 7);
  const auto wrong = [&](const Column& column, int64_t first, uint64_t seed) {
    return countWrong({0, 10'000, &column, first}, seed, 0, 4, bytes);
  };
  EXPECT_EQ(wrong(own, 0, 7), 0);
  EXPECT_EQ(wrong(other, 0, 7), 10'000);
  EXPECT_GT(wrong(own, 1, 7), 9900);
  EXPECT_GT(wrong(own, 4096, 7), 9900);
  EXPECT_GT(wrong(own, 0, 8), 9900);
}

/// A buffer may be filled and checked in pieces.
TEST(Patterns, PiecesContinueThePattern) {
  const Column column = movedColumn(0);
  const auto whole = filled(column, 100, 4, 1);
  std::vector<std::byte> piece(40 * 4);
  const Segment segment{0, 100, &column, 0};
  fillPattern(segment, 1, 60, 4, piece);
  EXPECT_TRUE(std::ranges::equal(piece, std::span(whole).subspan(60 * 4)));
  EXPECT_EQ(countWrong(segment, 1, 60, 4, piece), 0);
}

} // namespace
} // namespace reciperun::bench
