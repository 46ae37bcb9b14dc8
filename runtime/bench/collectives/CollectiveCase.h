// One collective at one size, seen from one rank: its buffers, the call of the
// communicator, and the values that each rank gives and must get.

#ifndef RECIPERUN_BENCH_COLLECTIVES_COLLECTIVECASE_H
#define RECIPERUN_BENCH_COLLECTIVES_COLLECTIVECASE_H

#include "runtime/bench/collectives/Patterns.h"
#include "runtime/benchlog/CollectiveTest.h"

#include <map>

namespace reciperun::bench {

using benchlog::CollectiveTest;

/// What is measured at all sizes.
struct CollectiveKind {
  CollectiveTest test = CollectiveTest::allReduce;
  const ElementType* type = nullptr;
  comm::Reduction reduction = comm::Reduction::sum; // of tests that reduce
  int root = -1;                                    // of tests with a root
};

struct CollectiveCase {
  CollectiveKind kind;
  int rank = 0, ranks = 1;
  benchlog::Counts counts;

  int64_t elementBytes() const { return kind.type->bytes(); }
  int64_t inputBytes() const { return counts.sent * elementBytes(); }
  int64_t outputBytes() const { return counts.received * elementBytes(); }
  /// The bytes of the larger buffer: the row's `size`.
  int64_t bytes() const { return counts.largest() * elementBytes(); }
  bool isRoot() const { return rank == kind.root; }
};

CollectiveCase caseOf(const CollectiveKind& kind, int64_t bytes, int rank,
                      int ranks);

/// Where input and output begin in the one buffer of the in-place form.
struct InPlaceOffsets {
  int64_t input = 0, output = 0; // bytes
};
InPlaceOffsets inPlaceOffsets(const CollectiveCase& one);

/// Calls the collective of group `group`, in stream order.
Status runCollective(comm::Communicator& communicator, int group,
                     const CollectiveCase& one, std::byte* in, std::byte* out);

/// The values of a kind of collective, on one rank.
class CollectiveValues {
public:
  CollectiveValues(const CollectiveKind& kind, int rank, int ranks);

  /// The values of the rank's input.
  std::vector<Segment> input(const CollectiveCase& one) const;
  /// The values that its output must have; none where the rank gets no result.
  std::vector<Segment> output(const CollectiveCase& one) const;

private:
  std::vector<Segment> parts(const CollectiveCase& one, int64_t first) const;
  const Column& of(int rank) const { return columns.at(rank); }

  std::map<int, Column> columns; // by rank
  Column result;                 // of a reduction
};

} // namespace reciperun::bench

#endif // RECIPERUN_BENCH_COLLECTIVES_COLLECTIVECASE_H
