// See GroupName.h.

#include "runtime/comm/GroupName.h"

namespace reciperun::comm {

namespace {

/// `0, 2`. A long list shows the first ranks and the last.
std::string listOf(const std::vector<int>& ranks) {
  constexpr size_t listed = 8;
  std::string text;
  for (size_t i = 0; i < ranks.size(); ++i) {
    const bool isLeftOut = i >= listed && i + 1 < ranks.size();
    if (isLeftOut)
      continue;
    text += i == 0 ? "" : i > listed ? ", ..., " : ", ";
    text += std::to_string(ranks[i]);
  }
  return text;
}

} // namespace

std::string nameOf(const plan::Group& group, const std::vector<int>& members) {
  return "group `" + group.name + "` of ranks " + listOf(members);
}

std::string nameOfRanks(const std::vector<int>& ranks) {
  return (ranks.size() == 1 ? "rank " : "ranks ") + listOf(ranks);
}

std::string nameOfAll(int ranks) {
  return "all " + std::to_string(ranks) + " ranks";
}

std::string nameOfLink(int from, int to, int link) {
  return "rank " + std::to_string(from) + " to rank " + std::to_string(to) +
         " on link " + std::to_string(link);
}

} // namespace reciperun::comm
