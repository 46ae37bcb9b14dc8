// The width of connections between GPUs, and the memory that each connection
// allocates. The runtime allocates it and the compiler counts it.
//
// A connection's width is the number of multiprocessors ("blocks") that NCCL
// may use for it.

#ifndef RECIPERUN_SIZES_CONNECTIONWIDTHS_H
#define RECIPERUN_SIZES_CONNECTIONWIDTHS_H

#include <cstdint>

namespace reciperun::sizes {

/// No limit: the library chooses.
inline constexpr int unboundedBlocks = 0;
/// The most that the library uses.
inline constexpr int mostBlocks = 32;

/// The width of a group's communicator. `bytes` is the size of its largest op,
/// and `neighbours` the largest number of its `ranks` on one host. In an
/// exchange (all-to-all) every rank sends to every rank.
constexpr int blocksOfGroup(int64_t bytes, int64_t neighbours, int64_t ranks,
                            bool isExchange) {
  // Two blocks carry 30 GB/s: 4 MiB take 0.15 ms.
  if (bytes <= int64_t(4) << 20)
    return 2;
  // Ranks on different hosts are limited by their network cards of 50 GB/s
  // each; 8 blocks carry more than 100 GB/s.
  if (neighbours == 1)
    return 8;
  // The network cards are the bottleneck here as well, and an exchange has a
  // connection for every rank.
  if (isExchange && neighbours < ranks)
    return 16;
  return unboundedBlocks;
}

/// The width of a connection between two pipeline stages, whose ranks are on
/// one host (`isNear`) or not. A message occupies its multiprocessors while it
/// waits for its peer, and several messages wait at a time while kernels
/// compute.
constexpr int blocksOfLine(bool isNear) {
  return isNear ? 8 : 4;
}

/// The size of each of the two buffers that pack shards along a dimension other
/// than the first.
inline constexpr int64_t packingBytes = int64_t(32) << 20;

/// The page size for mapping memory of other ranks. An allocation that is not a
/// multiple of it is mapped in pages of 4 KiB: mapping is 200 times slower, and
/// copies take 1.3 to 1.5 times as long.
inline constexpr int64_t mappedPageBytes = int64_t(2) << 20;

/// The most ranks of a group whose kernels read and write each other's memory.
inline constexpr int mostPeers = 64;

/// The size of the flags that ranks use to synchronize when they map each
/// other's memory.
inline constexpr int64_t flagBytes = mappedPageBytes;

} // namespace reciperun::sizes

#endif // RECIPERUN_SIZES_CONNECTIONWIDTHS_H
