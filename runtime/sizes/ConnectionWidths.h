// How wide connections between GPUs are, and what each keeps there of its own:
// what the runtime makes and the compiler counts the bytes of.
//
// A connection's width is the multiprocessors ("blocks") that NCCL may take for
// it.

#ifndef RECIPERUN_SIZES_CONNECTIONWIDTHS_H
#define RECIPERUN_SIZES_CONNECTIONWIDTHS_H

#include <cstdint>

namespace reciperun::sizes {

/// As many as the library likes.
inline constexpr int unboundedBlocks = 0;

/// Of a group's communicator. `bytes` is the most that one op moves,
/// `neighbours` the most of its `ranks` that share a host; of an exchange each
/// rank gives something to each.
constexpr int blocksOfGroup(int64_t bytes, int64_t neighbours, int64_t ranks,
                            bool isExchange) {
  // Two blocks carry 30 GB/s, by which it is a matter of 0.15 ms.
  if (bytes <= int64_t(4) << 20)
    return 2;
  // Ranks that share no host send by their network cards, of 50 GB/s each; 8
  // blocks carry more than 100.
  if (neighbours == 1)
    return 8;
  // What goes by the cards takes longest here, too; connections are as many as
  // ranks.
  if (isExchange && neighbours < ranks)
    return 16;
  return unboundedBlocks;
}

/// Of messages between two stages, whose ranks share a host or do not. A
/// message waits on its multiprocessors for the other side, and several wait at
/// a time while kernels compute.
constexpr int blocksOfLine(bool isNear) {
  return isNear ? 8 : 4;
}

/// Each of two buffers for parts along other dimensions than the first.
inline constexpr int64_t packingBytes = int64_t(32) << 20;

/// The pages in which ranks map each other's memory. What is taken as no whole
/// number of them is mapped in pages of 4 KiB, 200 times as slowly, and copies
/// there take 1.3 to 1.5 times as long.
inline constexpr int64_t mappedPageBytes = int64_t(2) << 20;

/// Flags of ranks that map each other's memory.
inline constexpr int64_t flagBytes = mappedPageBytes;

} // namespace reciperun::sizes

#endif // RECIPERUN_SIZES_CONNECTIONWIDTHS_H
