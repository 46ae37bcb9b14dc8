// Best fit with a second index by size. Among blocks of one size, the lowest
// offset comes first.

#include "compiler/passes/memory/FreeList.h"

#include <algorithm>
#include <cassert>
#include <iterator>

namespace recipec::passes {

void FreeList::add(int64_t offset, int64_t bytes) {
  bool isNew = blocks.emplace(offset, bytes).second;
  assert(isNew && "the block is free already");
  (void)isNew;
  bySize.emplace(bytes, offset);
}

void FreeList::remove(std::map<int64_t, int64_t>::iterator block) {
  bySize.erase({block->second, block->first});
  blocks.erase(block);
}

int64_t FreeList::allocate(int64_t bytes) {
  auto best = bySize.lower_bound({bytes, 0});
  if (best == bySize.end()) {
    // Extends a free block at the top.
    bool atTop = !blocks.empty() &&
                 blocks.rbegin()->first + blocks.rbegin()->second == top;
    int64_t offset = atTop ? blocks.rbegin()->first : top;
    if (atTop)
      remove(std::prev(blocks.end()));
    top = offset + bytes;
    return offset;
  }
  auto [size, offset] = *best;
  remove(blocks.find(offset));
  if (size > bytes)
    add(offset + bytes, size - bytes);
  return offset;
}

void FreeList::release(int64_t offset, int64_t bytes) {
  auto next = blocks.lower_bound(offset);
  if (next != blocks.end() && offset + bytes == next->first) {
    bytes += next->second;
    remove(next);
  }
  auto after = blocks.lower_bound(offset);
  if (after != blocks.begin()) {
    auto before = std::prev(after);
    if (before->first + before->second == offset) {
      offset = before->first;
      bytes += before->second;
      remove(before);
    }
  }
  add(offset, bytes);
}

int64_t firstGap(const std::vector<std::pair<int64_t, int64_t>>& blocks,
                 int64_t begin, int64_t bytes) {
  int64_t offset = begin;
  for (const auto& [first, end] : blocks) {
    if (offset + bytes <= first)
      break;
    offset = std::max(offset, end);
  }
  return offset;
}

} // namespace recipec::passes
