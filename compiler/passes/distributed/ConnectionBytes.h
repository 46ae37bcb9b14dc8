// The device memory that connections take outside the plan's arena.
//
// An NCCL communicator takes memory at its creation, at its first collective,
// which connects neighbours, and for each rank that it exchanges parts with.
// The memory grows with the multiprocessors ("blocks") that it may use. The
// byte counts are those of NCCL 2.28.9 between two H200 over NVLink, to 4 MiB.
// Neighbours on other hosts are assumed to take the same, other ranks there
// nothing, since they are reached through host memory.

#ifndef RECIPEC_PASSES_DISTRIBUTED_CONNECTIONBYTES_H
#define RECIPEC_PASSES_DISTRIBUTED_CONNECTIONBYTES_H

#include "runtime/sizes/ConnectionWidths.h"

#include <algorithm>
#include <cstdint>

namespace recipec::passes {

inline constexpr int64_t mebibyte = int64_t(1) << 20;

/// The number of blocks that NCCL uses in collectives at most.
inline constexpr int64_t mostInCollectives = 24;

/// The blocks of a width, which is 0 without a limit.
constexpr int64_t blocksOf(int width) {
  return width == reciperun::sizes::unboundedBlocks
             ? reciperun::sizes::mostBlocks
             : width;
}

/// Of a communicator at its creation.
constexpr int64_t madeBytes(int64_t blocks) {
  return (6 + 6 * blocks) * mebibyte;
}
/// Of the connection to the neighbours in a ring or tree.
constexpr int64_t neighboursBytes(int64_t blocks) {
  return 12 * std::min(blocks, mostInCollectives) * mebibyte;
}
/// Of the connection to one rank that parts are exchanged with.
constexpr int64_t peerBytes(int64_t blocks) {
  return 12 * blocks * mebibyte;
}
/// Of the ends of a link, beside its communicator. The receiver holds the data
/// in flight.
constexpr int64_t senderBytes(int64_t blocks) {
  return 2 * blocks * mebibyte;
}
constexpr int64_t receiverBytes(int64_t blocks) {
  return 10 * blocks * mebibyte;
}

/// NCCL's code and its one-time allocations.
inline constexpr int64_t libraryBytes = 379 * mebibyte;
/// Taken at the first exchange or message.
inline constexpr int64_t firstExchangeBytes = 62 * mebibyte;
/// Taken by stages, which load all kernels at the start (exec/Devices.cpp).
inline constexpr int64_t kernelsBytes = 371 * mebibyte;

} // namespace recipec::passes

#endif // RECIPEC_PASSES_DISTRIBUTED_CONNECTIONBYTES_H
