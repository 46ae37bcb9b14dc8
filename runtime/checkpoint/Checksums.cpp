// Whole chunks are hashed in place; only a chunk that arrives in several pieces
// is copied.

#include "runtime/checkpoint/Checksums.h"

#include "runtime/base/Hash.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace reciperun::checkpoint {

void ChecksumStream::add(std::span<const std::byte> bytes) {
  constexpr size_t chunk = chunkBytes;
  while (!bytes.empty()) {
    if (pending.empty() && bytes.size() >= chunk) {
      sums.push_back(checksumOf(bytes.first(chunk)));
      bytes = bytes.subspan(chunk);
      continue;
    }
    const auto next =
        bytes.first(std::min(bytes.size(), chunk - pending.size()));
    pending.insert(pending.end(), next.begin(), next.end());
    bytes = bytes.subspan(next.size());
    if (pending.size() < chunk)
      continue;
    sums.push_back(checksumOf(pending));
    pending.clear();
  }
}

std::vector<uint64_t> ChecksumStream::finish() {
  if (!pending.empty())
    sums.push_back(checksumOf(pending));
  pending.clear();
  return std::exchange(sums, {});
}

std::optional<int64_t> findDamage(std::span<const std::byte> bytes,
                                  std::span<const uint64_t> sums,
                                  int64_t first) {
  for (int64_t chunk = first; !bytes.empty(); ++chunk) {
    assert(chunk < int64_t(sums.size()) && "a chunk of the tensor");
    const auto next = bytes.first(std::min(bytes.size(), size_t(chunkBytes)));
    if (checksumOf(next) != sums[size_t(chunk)])
      return chunk;
    bytes = bytes.subspan(next.size());
  }
  return std::nullopt;
}

std::string checksumText(std::span<const uint64_t> sums) {
  std::string text;
  text.reserve(16 * sums.size());
  for (uint64_t sum : sums)
    text += hexText(sum);
  return text;
}

std::optional<std::vector<uint64_t>> parseChecksums(std::string_view text,
                                                    int64_t count) {
  if (text.size() % 16 != 0 || int64_t(text.size() / 16) != count)
    return std::nullopt;
  std::vector<uint64_t> sums;
  sums.reserve(size_t(count));
  for (; !text.empty(); text.remove_prefix(16)) {
    const std::optional<uint64_t> sum = parseHex(text.substr(0, 16));
    if (!sum)
      return std::nullopt;
    sums.push_back(*sum);
  }
  return sums;
}

} // namespace reciperun::checkpoint
