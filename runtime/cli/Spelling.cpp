// The edit distance, with three rows of its table in memory.

#include "runtime/cli/Spelling.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace reciperun::cli {
namespace {

/// The number of insertions, deletions, substitutions and transpositions of
/// adjacent characters (optimal string alignment).
size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> beforeLast, last(b.size() + 1), current(b.size() + 1);
  std::iota(last.begin(), last.end(), size_t(0));
  for (size_t i = 0; i < a.size(); ++i) {
    current[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      current[j + 1] =
          std::min({last[j + 1] + 1, current[j] + 1, last[j] + (a[i] != b[j])});
      if (i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j])
        current[j + 1] = std::min(current[j + 1], beforeLast[j - 1] + 1);
    }
    beforeLast = std::exchange(last, current);
  }
  return last.back();
}

} // namespace

std::optional<std::string> nearest(std::string_view name,
                                   const std::vector<std::string>& candidates) {
  std::optional<std::string> best;
  size_t leastDistance = 0;
  for (const std::string& candidate : candidates) {
    const size_t distance = editDistance(name, candidate);
    const size_t longer = std::max(name.size(), candidate.size());
    const bool isNear =
        distance <= std::max<size_t>(1, longer / 3) && distance < longer;
    if (!isNear || (best && distance >= leastDistance))
      continue;
    best = candidate;
    leastDistance = distance;
  }
  return best;
}

std::string quotedList(const std::vector<std::string>& names,
                       std::string_view conjunction) {
  std::string list;
  for (size_t i = 0; i < names.size(); ++i) {
    const bool isLast = i + 1 == names.size();
    if (i > 0)
      list += isLast ? " " + std::string(conjunction) + " " : ", ";
    list += "`" + names[i] + "`";
  }
  return list;
}

} // namespace reciperun::cli
