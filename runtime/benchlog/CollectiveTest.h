// The tests of nccl-tests: how many elements each moves, and the bandwidth that
// a time gives.

#ifndef RECIPERUN_BENCHLOG_COLLECTIVETEST_H
#define RECIPERUN_BENCHLOG_COLLECTIVETEST_H

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace reciperun::benchlog {

enum class CollectiveTest {
  allReduce,
  allGather,
  reduceScatter,
  broadcast,
  reduce,
  allToAll,
  sendRecv,
  gather,
  scatter,
  hypercube
};

/// All tests, in the order of the enumeration.
std::span<const CollectiveTest> collectiveTests();

/// `all_reduce`.
std::string_view nameOf(CollectiveTest test);
/// The test of a name with or without the `_perf` of nccl-tests' programs and
/// the folder before it.
std::optional<CollectiveTest> findTest(std::string_view name);

/// Whether the test adds the ranks' elements, and so has a `redop`.
bool isReducing(CollectiveTest test);
/// Whether one rank of the test differs from the others.
bool hasRoot(CollectiveTest test);
/// Whether input and output of the test may be one buffer.
bool hasInPlaceForm(CollectiveTest test);

/// The elements of a rank.
struct Counts {
  int64_t sent = 0, received = 0;
  int64_t counted = 0; // the column `count`
  int64_t largest() const { return sent > received ? sent : received; }
};

/// The counts for at most `bytes` bytes of the larger buffer. Parts of a rank
/// are multiples of 16 bytes, so that a small size may have no element.
Counts countsOf(CollectiveTest test, int64_t bytes, int64_t elementBytes,
                int ranks);

/// Gigabytes (10^9 bytes) a second.
struct Bandwidth {
  double algorithm = 0, bus = 0;
};

/// busbw / algbw: the part of the bytes of `algbw` that passes the busiest link
/// (nccl-tests, doc/PERFORMANCE.md).
double busFactor(CollectiveTest test, int ranks);

/// The bandwidth of a collective of `counted` elements that takes `seconds`.
Bandwidth bandwidthOf(CollectiveTest test, int64_t counted,
                      int64_t elementBytes, int ranks, double seconds);

/// The number of ranks whose busFactor is `factor`, not rounded. Nullopt when
/// the factor of the test is the same for all, or no number has this one.
std::optional<double> ranksOfFactor(CollectiveTest test, double factor);

} // namespace reciperun::benchlog

#endif // RECIPERUN_BENCHLOG_COLLECTIVETEST_H
