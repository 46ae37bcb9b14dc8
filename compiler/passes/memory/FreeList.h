// Free blocks of a growing space, for planning addresses.

#ifndef RECIPEC_PASSES_MEMORY_FREELIST_H
#define RECIPEC_PASSES_MEMORY_FREELIST_H

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace recipec::passes {

/// Best fit: allocates the smallest free block that is large enough, or grows
/// the space. Sizes are multiples of the alignment, so offsets are too.
class FreeList {
public:
  int64_t allocate(int64_t bytes);
  void release(int64_t offset, int64_t bytes);
  /// The largest size of the space in bytes.
  int64_t peak() const { return top; }

private:
  void add(int64_t offset, int64_t bytes);
  void remove(std::map<int64_t, int64_t>::iterator block);

  std::map<int64_t, int64_t> blocks; // offset → bytes; no two touch
  std::set<std::pair<int64_t, int64_t>> bySize; // bytes, offset: the same
  int64_t top = 0;
};

/// The lowest offset, from `begin` on, at which `bytes` bytes overlap none of
/// the blocks, which are sorted pairs of begin and end.
int64_t firstGap(const std::vector<std::pair<int64_t, int64_t>>& blocks,
                 int64_t begin, int64_t bytes);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_MEMORY_FREELIST_H
