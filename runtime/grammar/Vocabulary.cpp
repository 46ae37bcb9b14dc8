// Sorts the tokens, so that tokens with a common beginning are adjacent.

#include "runtime/grammar/Vocabulary.h"

#include <algorithm>

namespace reciperun::grammar {

Vocabulary::Vocabulary(std::vector<std::string> all) : tokens(std::move(all)) {
  for (size_t id = 0; id < tokens.size(); ++id) {
    longestToken = std::max(longestToken, tokens[id].size());
    if (!tokens[id].empty())
      order.push_back(static_cast<int32_t>(id));
  }
  std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    const int compared = tokens[size_t(a)].compare(tokens[size_t(b)]);
    return compared != 0 ? compared < 0 : a < b;
  });
  shared.assign(order.size(), 0);
  for (size_t i = 1; i < order.size(); ++i) {
    const std::string& one = tokens[size_t(order[i - 1])];
    const std::string& two = tokens[size_t(order[i])];
    const size_t most = std::min(one.size(), two.size());
    uint32_t common = 0;
    while (common < most && one[common] == two[common])
      ++common;
    shared[i] = common;
  }
}

} // namespace reciperun::grammar
