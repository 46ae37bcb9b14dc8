// Copies between a whole tensor and the parts it is split into.

#include "runtime/comm/Blocks.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace reciperun::comm {

Blocks Blocks::of(std::span<const int64_t> partShape, int dim, int parts,
                  int64_t elementBytes) {
  Blocks blocks{1, 1, parts, elementBytes};
  for (size_t i = 0; i < partShape.size(); ++i)
    (int(i) < dim ? blocks.rows : blocks.block) *= partShape[i];
  return blocks;
}

ShardExchange::Ends ShardExchange::endsOf(std::span<const int64_t> shape,
                                          int ranks,
                                          int64_t elementBytes) const {
  std::vector<int64_t> part(shape.begin(), shape.end());
  part[size_t(split)] /= ranks;
  return {Blocks::of(part, split, ranks, elementBytes),
          Blocks::of(part, concat, ranks, elementBytes)};
}

/// Calls visit(byte in the whole, byte in the range, bytes) for each run of
/// [begin, end) that is contiguous in the whole.
template <class Visit>
void Blocks::runs(int part, int64_t begin, int64_t end, Visit&& visit) const {
  for (int64_t at = begin; at < end;) {
    int64_t row = at / block, inBlock = at % block;
    int64_t count = std::min(block - inBlock, end - at);
    int64_t inWhole = (row * parts + part) * block + inBlock;
    visit(inWhole * elementBytes, (at - begin) * elementBytes,
          count * elementBytes);
    at += count;
  }
}

void Blocks::pack(const std::byte* whole, int part, int64_t begin, int64_t end,
                  std::byte* out) const {
  runs(part, begin, end, [&](int64_t from, int64_t to, int64_t bytes) {
    std::memcpy(out + to, whole + from, bytes);
  });
}

void Blocks::unpack(const std::byte* in, int part, int64_t begin, int64_t end,
                    std::byte* whole) const {
  runs(part, begin, end, [&](int64_t to, int64_t from, int64_t bytes) {
    std::memmove(whole + to, in + from, bytes);
  });
}

} // namespace reciperun::comm
