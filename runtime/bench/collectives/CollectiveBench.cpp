// See CollectiveBench.h.

#include "runtime/bench/collectives/CollectiveBench.h"

#include "runtime/bench/WaitForDevice.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <limits>
#include <utility>

namespace reciperun::bench {
namespace {

using benchlog::Half;
using benchlog::Row;
using Clock = std::chrono::steady_clock;

/// The buffers of two iterations start this many bytes apart, or a multiple.
constexpr int64_t slotAlignment = 512;

/// The host fills and checks buffers in pieces of this size.
constexpr int64_t stagingBytes = int64_t(32) << 20;

double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::string nameOf(comm::Reduction reduction) {
  switch (reduction) {
  case comm::Reduction::sum:
    return "sum";
  case comm::Reduction::max:
    return "max";
  case comm::Reduction::min:
    return "min";
  case comm::Reduction::product:
    return "prod";
  }
  return "";
}

} // namespace

std::string localTimeNow() {
  const std::time_t now = std::time(nullptr);
  std::tm local = {};
  localtime_r(&now, &local);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &local);
  return text;
}

std::vector<int64_t> CollectiveBenchOptions::sizes() const {
  std::vector<int64_t> all;
  for (int64_t size = minBytes; size <= maxBytes;) {
    all.push_back(size);
    const int64_t next = stepFactor > 1 ? size * stepFactor : size + stepBytes;
    if (next <= size || next > std::numeric_limits<int64_t>::max() / 64)
      break;
    size = next;
  }
  return all;
}

Status CollectiveBench::allocate() {
  const auto take = [&]() -> Status {
    constexpr int64_t largestElement = 8;
    staging.resize(
        size_t(std::clamp(options.maxBytes, largestElement, stagingBytes)));
    for (memory::Arena& arena : arenas) {
      auto made = device.allocate(std::max<int64_t>(options.maxBytes, 1),
                                  /*hostBytes=*/0);
      RECIPERUN_TRY(made);
      arena = *std::move(made);
    }
    return Status::ok();
  };
  return communicator.agree(
      take().withContext("the two buffers of `--maxbytes`"));
}

// ---- calls

CollectiveBench::Buffers CollectiveBench::buffersOf(const CollectiveCase& one,
                                                    bool isInPlace,
                                                    int64_t iteration) const {
  const int64_t slot =
      (one.bytes() + slotAlignment - 1) / slotAlignment * slotAlignment;
  const int64_t slots =
      slot > 0 ? std::max<int64_t>(1, options.maxBytes / slot) : 1;
  const int64_t offset = iteration % slots * slot;
  if (!isInPlace)
    return {arenas[0].base() + offset, arenas[1].base() + offset};
  std::byte* const base = arenas[1].base() + offset;
  const InPlaceOffsets within = inPlaceOffsets(one);
  return {base + within.input, base + within.output};
}

Status CollectiveBench::call(const CollectiveCase& one, bool isInPlace,
                             int64_t iteration) {
  const Buffers buffers = buffersOf(one, isInPlace, iteration);
  return runCollective(communicator, group, one, buffers.in, buffers.out);
}

/// The calls of all iterations.
Status CollectiveBench::callAll(const CollectiveCase& one, bool isInPlace) {
  const int64_t calls = int64_t(options.iterations) * options.aggregated;
  for (int64_t i = 0; i < calls; ++i) {
    RECIPERUN_TRY(call(one, isInPlace, i));
    if (options.blocking > 0)
      RECIPERUN_TRY(waitUntilIdle(device));
    if (options.blocking == 1)
      RECIPERUN_TRY(communicator.agree(Status::ok()));
  }
  return Status::ok();
}

Status CollectiveBench::warmUp(const CollectiveKind& kind) {
  for (int64_t bytes : {options.maxBytes, options.minBytes}) {
    const CollectiveCase one =
        caseOf(kind, bytes, communicator.rank(), communicator.ranks());
    for (int i = 0; i < options.warmups; ++i)
      RECIPERUN_TRY(call(one, /*isInPlace=*/false, i));
    RECIPERUN_TRY(waitUntilIdle(device));
  }
  return Status::ok();
}

// ---- time

/// The seconds of one call on this rank.
Expected<double> CollectiveBench::secondsOf(const CollectiveCase& one,
                                            bool isInPlace) {
  RECIPERUN_TRY(call(one, isInPlace, 0));
  RECIPERUN_TRY(waitUntilIdle(device));
  if (options.graph > 0)
    return secondsOfGraph(one, isInPlace);
  RECIPERUN_TRY(communicator.agree(Status::ok()));
  const Clock::time_point start = Clock::now();
  RECIPERUN_TRY(callAll(one, isInPlace));
  const double calls = secondsSince(start);
  RECIPERUN_TRY(waitUntilIdle(device));
  return (options.measuresHost ? calls : secondsSince(start)) /
         options.iterations / options.aggregated;
}

Expected<double> CollectiveBench::secondsOfGraph(const CollectiveCase& one,
                                                 bool isInPlace) {
  RECIPERUN_TRY(device.beginRecording());
  Status recorded = communicator.beginsRecording();
  if (recorded.isOk())
    recorded = callAll(one, isInPlace);
  const int number = communicator.endsRecording();
  const auto recording = device.endRecording();
  RECIPERUN_TRY(recorded);
  RECIPERUN_TRY(recording);
  RECIPERUN_TRY(communicator.agree(Status::ok()));
  const Clock::time_point start = Clock::now();
  for (int i = 0; i < options.graph; ++i) {
    RECIPERUN_TRY((*recording)->launch());
    RECIPERUN_TRY(communicator.launched(number));
  }
  const double calls = secondsSince(start);
  RECIPERUN_TRY(waitUntilIdle(device));
  return (options.measuresHost ? calls : secondsSince(start)) / options.graph /
         options.iterations / options.aggregated;
}

Expected<double> CollectiveBench::averageOverRanks(double seconds) {
  const int ranks = communicator.ranks();
  std::vector<double> all(static_cast<size_t>(ranks));
  const int64_t one[] = {1}, many[] = {ranks};
  RECIPERUN_TRY(communicator.host().allGather(
      comm::world, {&seconds, plan::DType::f64, one},
      {all.data(), plan::DType::f64, many}, /*dim=*/0));
  using Average = CollectiveBenchOptions::Average;
  switch (options.average) {
  case Average::rank0:
    return all.front();
  case Average::least:
    return std::ranges::min(all);
  case Average::most:
    return std::ranges::max(all);
  case Average::mean:
    break;
  }
  double sum = 0;
  for (double each : all)
    sum += each;
  return sum / ranks;
}

// ---- correctness

/// Calls `visit` for each piece of a segment, with the piece's first element
/// and its bytes of the staging buffer.
template <class Visit>
static Status inPieces(std::span<std::byte> staging, int64_t elements,
                       int64_t elementBytes, const Visit& visit) {
  const int64_t most = int64_t(staging.size()) / elementBytes;
  for (int64_t from = 0; from < elements; from += most) {
    const int64_t count = std::min(most, elements - from);
    RECIPERUN_TRY(visit(from, staging.first(size_t(count * elementBytes))));
  }
  return Status::ok();
}

Status CollectiveBench::fill(std::byte* data, const Segment& segment,
                             int64_t elementBytes) {
  return inPieces(staging, segment.count, elementBytes,
                  [&](int64_t from, std::span<std::byte> piece) {
                    fillPattern(segment, seed, from, elementBytes, piece);
                    return device.upload(
                        data + (segment.begin + from) * elementBytes, piece);
                  });
}

Expected<int64_t> CollectiveBench::countWrongOf(const std::byte* data,
                                                const Segment& segment,
                                                int64_t elementBytes) {
  int64_t wrong = 0;
  RECIPERUN_TRY(inPieces(
      staging, segment.count, elementBytes,
      [&](int64_t from, std::span<std::byte> piece) {
        const Status copied = device.download(
            piece, data + (segment.begin + from) * elementBytes);
        if (copied.isOk())
          wrong += countWrong(segment, seed, from, elementBytes, piece);
        return copied;
      }));
  return wrong;
}

/// The wrong elements of one call, of all ranks.
Expected<int64_t>
CollectiveBench::wrongElements(const CollectiveCase& one, bool isInPlace,
                               const CollectiveValues& values) {
  ++seed;
  const Buffers buffers = buffersOf(one, isInPlace, /*iteration=*/0);
  RECIPERUN_TRY(device.clear(buffers.out, one.outputBytes()));
  for (const Segment& segment : values.input(one))
    RECIPERUN_TRY(fill(buffers.in, segment, one.elementBytes()));
  RECIPERUN_TRY(waitUntilIdle(device));
  RECIPERUN_TRY(call(one, isInPlace, /*iteration=*/0));
  RECIPERUN_TRY(waitUntilIdle(device));
  int64_t wrong = 0;
  for (const Segment& segment : values.output(one)) {
    const auto found = countWrongOf(buffers.out, segment, one.elementBytes());
    RECIPERUN_TRY(found);
    wrong += *found;
  }
  const int64_t shape[] = {1};
  const device::Tensor sum{&wrong, plan::DType::i64, shape};
  RECIPERUN_TRY(communicator.host().allReduce(comm::world, sum, sum,
                                              comm::Reduction::sum));
  return wrong;
}

// ---- rows

/// Without `values` the result is not checked.
Expected<Half> CollectiveBench::halfOf(const CollectiveCase& one,
                                       bool isInPlace,
                                       const CollectiveValues* values) {
  const auto mine = secondsOf(one, isInPlace);
  RECIPERUN_TRY(mine);
  const auto seconds = averageOverRanks(*mine);
  RECIPERUN_TRY(seconds);
  const benchlog::Bandwidth bandwidth = benchlog::bandwidthOf(
      one.kind.test, one.counts.counted, one.elementBytes(), one.ranks,
      std::max(*seconds, 1e-12));
  Half half{{*seconds * 1e6}, {bandwidth.algorithm}, {bandwidth.bus}, {}};
  if (!values || options.checks == 0)
    return half;
  half.wrong = 0;
  for (int i = 0; i < options.checks; ++i) {
    const auto wrong = wrongElements(one, isInPlace, *values);
    RECIPERUN_TRY(wrong);
    *half.wrong += double(*wrong);
  }
  return half;
}

Expected<Row> CollectiveBench::rowOf(const CollectiveCase& one,
                                     const CollectiveValues& values) {
  const CollectiveKind& kind = one.kind;
  Row row;
  row.size = one.bytes();
  row.count = one.counts.counted;
  row.type = kind.type->name;
  row.redop = benchlog::isReducing(kind.test) ? nameOf(kind.reduction) : "none";
  row.root = benchlog::hasRoot(kind.test) ? kind.root : -1;
  const bool hasBoth = benchlog::hasInPlaceForm(kind.test);
  const auto outOfPlace = halfOf(one, /*isInPlace=*/false, &values);
  RECIPERUN_TRY(outOfPlace);
  row.outOfPlace = *outOfPlace;
  const auto inPlace = halfOf(one, hasBoth, hasBoth ? &values : nullptr);
  RECIPERUN_TRY(inPlace);
  row.inPlace = *inPlace;
  if (options.hasTimestamps)
    row.timestamp = localTimeNow();
  return row;
}

Status
CollectiveBench::measure(const CollectiveKind& kind,
                         const std::function<void(benchlog::Row)>& take) {
  const int rank = communicator.rank(), ranks = communicator.ranks();
  const CollectiveValues values(kind, rank, ranks);
  RECIPERUN_TRY(warmUp(kind));
  for (int64_t bytes : options.sizes()) {
    auto row = rowOf(caseOf(kind, bytes, rank, ranks), values);
    RECIPERUN_TRY(row);
    take(*std::move(row));
  }
  return Status::ok();
}

} // namespace reciperun::bench
