// Measures collectives at all sizes, as nccl-tests does, and checks their
// results.
//
// 1. Warm up at the largest and the smallest size.
// 2. For each size, out of place and in place: call once, meet, and measure the
//    wall time of all iterations and of the wait for the device. The buffers
//    move from iteration to iteration.
// 3. Outside of the measured time, fill the input with values whose result is
//    known (Patterns.h), call again, and count the elements that differ.
//
// The time is that of `average` over the ranks. A collective without an
// in-place form has its out-of-place form measured twice, and its second half
// is not checked.

#ifndef RECIPERUN_BENCH_COLLECTIVES_COLLECTIVEBENCH_H
#define RECIPERUN_BENCH_COLLECTIVES_COLLECTIVEBENCH_H

#include "runtime/bench/collectives/CollectiveCase.h"
#include "runtime/benchlog/BenchLog.h"
#include "runtime/device/Device.h"

#include <functional>
#include <string>
#include <vector>

namespace reciperun::bench {

/// The time of this host's clock: `2026-01-31 08:15:00`.
std::string localTimeNow();

struct CollectiveBenchOptions {
  enum class Average { rank0, mean, least, most };

  int64_t minBytes = int64_t(32) << 20, maxBytes = int64_t(32) << 20;
  int64_t stepBytes = int64_t(1) << 20;
  int64_t stepFactor = 1; // above 1: instead of stepBytes
  int iterations = 20, warmups = 1;
  int aggregated = 1; // calls of an iteration
  int checks = 1;     // checked calls of each half; 0: none
  int blocking = 0;   // 1: wait and meet after each call; 2: wait
  int graph = 0;      // above 0: launches of a graph of all iterations
  Average average = Average::mean;
  bool measuresHost = false; // the time of the calls, without the wait
  bool hasTimestamps = false;

  /// The sizes of the rows, in bytes.
  std::vector<int64_t> sizes() const;
};

class CollectiveBench {
public:
  /// Group `group` of the communicator has all ranks. The arguments outlive the
  /// object.
  CollectiveBench(const CollectiveBenchOptions& options, device::Device& device,
                  comm::Communicator& communicator, int group)
      : options(options), device(device), communicator(communicator),
        group(group) {}

  /// Allocates the buffers. Collective.
  Status allocate();

  /// Warms up, and passes each row to `take` as soon as it is measured. All
  /// ranks measure the same rows. Collective.
  Status measure(const CollectiveKind& kind,
                 const std::function<void(benchlog::Row)>& take);

private:
  /// The two buffers of a call, apart or within one.
  struct Buffers {
    std::byte *in = nullptr, *out = nullptr;
  };

  Status warmUp(const CollectiveKind& kind);
  Expected<benchlog::Row> rowOf(const CollectiveCase& one,
                                const CollectiveValues& values);
  Expected<benchlog::Half> halfOf(const CollectiveCase& one, bool isInPlace,
                                  const CollectiveValues* values);
  Expected<double> secondsOf(const CollectiveCase& one, bool isInPlace);
  Expected<double> secondsOfGraph(const CollectiveCase& one, bool isInPlace);
  Status callAll(const CollectiveCase& one, bool isInPlace);
  Status call(const CollectiveCase& one, bool isInPlace, int64_t iteration);
  Buffers buffersOf(const CollectiveCase& one, bool isInPlace,
                    int64_t iteration) const;
  Expected<double> averageOverRanks(double seconds);
  Expected<int64_t> wrongElements(const CollectiveCase& one, bool isInPlace,
                                  const CollectiveValues& values);
  Status fill(std::byte* data, const Segment& segment, int64_t elementBytes);
  Expected<int64_t> countWrongOf(const std::byte* data, const Segment& segment,
                                 int64_t elementBytes);

  const CollectiveBenchOptions& options;
  device::Device& device;
  comm::Communicator& communicator;
  int group;
  memory::Arena arenas[2];
  std::vector<std::byte> staging; // a piece of a buffer on the host
  uint64_t seed = 0;              // of the next check
};

} // namespace reciperun::bench

#endif // RECIPERUN_BENCH_COLLECTIVES_COLLECTIVEBENCH_H
