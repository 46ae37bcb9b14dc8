// See NgramDraft.h. The hash is FNV-1a of whole tokens.

#include "runtime/serve/engine/NgramDraft.h"

#include <algorithm>

namespace reciperun::serve {
namespace {

uint64_t hashOf(std::span<const int32_t> tokens) {
  uint64_t hash = 14695981039346656037U;
  for (int32_t token : tokens)
    hash = (hash ^ uint32_t(token)) * 1099511628211U;
  return hash;
}

} // namespace

void NgramDraft::index(std::span<const int32_t> tokens) {
  for (; indexed < tokens.size(); ++indexed)
    for (size_t i = 0; i < lengths.size(); ++i)
      if (indexed >= lengths[i])
        behind[i][hashOf(tokens.subspan(indexed - lengths[i], lengths[i]))] =
            indexed;
}

std::vector<int32_t> NgramDraft::propose(std::span<const int32_t> tokens,
                                         int64_t most) {
  index(tokens);
  for (size_t i = 0; i < lengths.size(); ++i) {
    const size_t length = lengths[i];
    if (tokens.size() < length)
      continue;
    const auto last = tokens.last(length);
    const auto found = behind[i].find(hashOf(last));
    if (found == behind[i].end() ||
        !std::ranges::equal(tokens.subspan(found->second - length, length),
                            last))
      continue;
    const auto next = tokens.subspan(found->second);
    std::vector<int32_t> draft;
    while (int64_t(draft.size()) < most)
      draft.push_back(next[draft.size() % next.size()]);
    return draft;
  }
  return {};
}

} // namespace reciperun::serve
