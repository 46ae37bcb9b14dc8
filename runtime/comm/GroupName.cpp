// See GroupName.h.

#include "runtime/comm/GroupName.h"

namespace reciperun::comm {

std::string nameOf(const plan::Group& group, const std::vector<int>& members) {
  constexpr size_t listed = 8;
  std::string text = "group `" + group.name + "` of ranks ";
  for (size_t i = 0; i < members.size(); ++i) {
    const bool isLeftOut = i >= listed && i + 1 < members.size();
    if (isLeftOut)
      continue;
    text += i == 0 ? "" : i > listed ? ", ..., " : ", ";
    text += std::to_string(members[i]);
  }
  return text;
}

std::string nameOfAll(int ranks) {
  return "all " + std::to_string(ranks) + " ranks";
}

std::string nameOfLine(int from, int to, int line) {
  return "rank " + std::to_string(from) + " to rank " + std::to_string(to) +
         " on line " + std::to_string(line);
}

} // namespace reciperun::comm
