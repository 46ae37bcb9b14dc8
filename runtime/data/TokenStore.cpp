// See TokenStore.h.

#include "runtime/data/TokenStore.h"

#include <algorithm>

namespace reciperun::data {

namespace {

constexpr int64_t pieceIds = 1 << 20;

} // namespace

void TokenStore::append(std::span<const int32_t> ids) {
  while (!ids.empty()) {
    if (count % pieceIds == 0) {
      pieces.emplace_back();
      pieces.back().reserve(size_t(pieceIds)); // commits no memory yet
    }
    const size_t room = size_t(pieceIds - count % pieceIds);
    const auto some = ids.first(std::min(room, ids.size()));
    pieces.back().insert(pieces.back().end(), some.begin(), some.end());
    count += int64_t(some.size());
    ids = ids.subspan(some.size());
  }
}

void TokenStore::read(int64_t first, std::span<int32_t> out) const {
  while (!out.empty()) {
    const std::vector<int32_t>& piece = pieces[size_t(first / pieceIds)];
    const size_t begin = size_t(first % pieceIds);
    const size_t some = std::min(piece.size() - begin, out.size());
    std::copy_n(piece.begin() + int64_t(begin), some, out.begin());
    out = out.subspan(some);
    first += int64_t(some);
  }
}

} // namespace reciperun::data
