// Best fit over an ordered map; the few blocks of a plan make a scan cheap.

#include "compiler/passes/FreeList.h"

#include <cassert>
#include <iterator>

namespace recipec::passes {

int64_t FreeList::allocate(int64_t bytes) {
  auto best = blocks.end();
  for (auto block = blocks.begin(); block != blocks.end(); ++block)
    if (block->second >= bytes &&
        (best == blocks.end() || block->second < best->second))
      best = block;
  if (best == blocks.end()) {
    // A free block at the top grows by what it lacks.
    bool atTop = !blocks.empty() &&
                 blocks.rbegin()->first + blocks.rbegin()->second == top;
    int64_t offset = atTop ? blocks.rbegin()->first : top;
    if (atTop)
      blocks.erase(std::prev(blocks.end()));
    top = offset + bytes;
    return offset;
  }
  auto [offset, size] = *best;
  blocks.erase(best);
  if (size > bytes)
    blocks[offset + bytes] = size - bytes;
  return offset;
}

void FreeList::release(int64_t offset, int64_t bytes) {
  auto [block, isNew] = blocks.emplace(offset, bytes);
  assert(isNew && "the block is free already");
  auto next = std::next(block);
  if (next != blocks.end() && block->first + block->second == next->first) {
    block->second += next->second;
    blocks.erase(next);
  }
  if (block == blocks.begin())
    return;
  auto before = std::prev(block);
  if (before->first + before->second == block->first) {
    before->second += block->second;
    blocks.erase(block);
  }
}

} // namespace recipec::passes
