// Inputs of collectives whose results are known exactly.
//
// A hash of an element's index selects one of 1024 classes, and a column holds
// the value of each class. Each rank has its own column. The result of a
// reduction is a column too, so that checking an element costs one look-up,
// however many ranks there are.
//
// Tests that only move elements have random bits. The terms of a sum are whole
// numbers, times a power of two that all ranks share, so small that each
// partial sum is exact in every order; the factors of a product are powers of
// two.

#ifndef RECIPERUN_BENCH_COLLECTIVES_PATTERNS_H
#define RECIPERUN_BENCH_COLLECTIVES_PATTERNS_H

#include "runtime/bench/collectives/ElementType.h"
#include "runtime/comm/Communicator.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace reciperun::bench {

/// The value of each class as the bits of the type, in the low bytes.
using Column = std::vector<uint64_t>;

/// Random bits of a rank.
Column movedColumn(int rank);
/// A rank's terms of a reduction over `ranks` ranks.
Column termColumn(const ElementType& type, comm::Reduction reduction, int ranks,
                  int rank);
/// The reduction of the terms of all ranks.
Column resultColumn(const ElementType& type, comm::Reduction reduction,
                    int ranks);

/// Elements [begin, begin + count) of a buffer: the elements of a column from
/// index `first` on.
struct Segment {
  int64_t begin = 0, count = 0;
  const Column* column = nullptr;
  int64_t first = 0;
};

/// Writes elements [from, from + out.size() / elementBytes) of a segment,
/// counted from its begin. `seed` makes patterns of their own.
void fillPattern(const Segment& segment, uint64_t seed, int64_t from,
                 int64_t elementBytes, std::span<std::byte> out);
/// The number of such elements that differ from the segment's, bit by bit.
int64_t countWrong(const Segment& segment, uint64_t seed, int64_t from,
                   int64_t elementBytes, std::span<const std::byte> in);

} // namespace reciperun::bench

#endif // RECIPERUN_BENCH_COLLECTIVES_PATTERNS_H
