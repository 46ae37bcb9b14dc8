// The device memory that connections take outside the plan's arena.
//
// An NCCL communicator allocates memory at its creation, at its first
// collective, which connects neighbours, and for each peer rank in an exchange
// or shift. The memory grows with the number of multiprocessors ("blocks") that
// it may use. The byte counts were measured with NCCL 2.28.9 between two H200
// over NVLink, to 4 MiB. Neighbours on other hosts are assumed to take the
// same. Other ranks on other hosts are assumed to take none, since they are
// reached through host memory.

#ifndef RECIPEC_PASSES_DISTRIBUTED_CONNECTIONBYTES_H
#define RECIPEC_PASSES_DISTRIBUTED_CONNECTIONBYTES_H

#include "runtime/sizes/ConnectionWidths.h"

#include <algorithm>
#include <cstdint>

namespace recipec::passes {

inline constexpr int64_t mebibyte = int64_t(1) << 20;

/// The most blocks that NCCL uses in collectives.
inline constexpr int64_t mostInCollectives = 24;

/// The number of blocks of a connection's width; width 0 means no limit.
constexpr int64_t blocksOf(int width) {
  return width == reciperun::sizes::unboundedBlocks
             ? reciperun::sizes::mostBlocks
             : width;
}

/// The memory of a communicator at its creation.
constexpr int64_t madeBytes(int64_t blocks) {
  return (6 + 6 * blocks) * mebibyte;
}
/// The memory of the connections to the neighbours in a ring or tree.
constexpr int64_t neighboursBytes(int64_t blocks) {
  return 12 * std::min(blocks, mostInCollectives) * mebibyte;
}
/// The memory of the connection to one peer rank of an exchange or shift.
constexpr int64_t peerBytes(int64_t blocks) {
  return 12 * blocks * mebibyte;
}
/// The memory of the two ends of a link, without its communicator. The receiver
/// buffers the data in flight.
constexpr int64_t senderBytes(int64_t blocks) {
  return 2 * blocks * mebibyte;
}
constexpr int64_t receiverBytes(int64_t blocks) {
  return 10 * blocks * mebibyte;
}

/// NCCL's code and its one-time allocations.
inline constexpr int64_t libraryBytes = 379 * mebibyte;
/// Allocated at the first exchange or message.
inline constexpr int64_t firstExchangeBytes = 62 * mebibyte;
/// Allocated by pipeline stages, which load all kernels at the start
/// (exec/Devices.cpp).
inline constexpr int64_t kernelsBytes = 371 * mebibyte;

} // namespace recipec::passes

#endif // RECIPEC_PASSES_DISTRIBUTED_CONNECTIONBYTES_H
