// "Did you mean": the candidate at the smallest edit distance.
//
// The distance counts insertions, deletions, substitutions and transpositions
// of neighbours (optimal string alignment). A candidate is near when at most a
// third of the longer name was changed; a difference of case or of `_` and `-`
// alone is always near. Of two at one distance the one of the same length is
// taken, a substitution being likelier than a missing letter.

#include "compiler/diag/Diagnostic.h"

#include <algorithm>
#include <cctype>

namespace recipec::diag {

static size_t editDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> beforeLast(b.size() + 1), last(b.size() + 1),
      current(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j)
    last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    current[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t substitution = last[j - 1] + (a[i - 1] != b[j - 1]);
      current[j] = std::min({last[j] + 1, current[j - 1] + 1, substitution});
      bool swapped =
          i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped)
        current[j] = std::min(current[j], beforeLast[j - 2] + 1);
    }
    std::swap(beforeLast, last);
    std::swap(last, current);
  }
  return last[b.size()];
}

/// The name as compared first: lower case, without separators.
static std::string plain(std::string_view name) {
  std::string result;
  for (unsigned char c : name)
    if (c != '_' && c != '-')
      result += char(std::tolower(c));
  return result;
}

/// Whether one name may be a misspelling of the other.
static bool isNear(std::string_view name, std::string_view candidate,
                   size_t distance) {
  size_t longer = std::max(name.size(), candidate.size());
  return distance <= std::max<size_t>(1, longer / 3) && distance < longer;
}

std::optional<std::string>
didYouMean(std::string_view name, const std::vector<std::string>& candidates) {
  const std::string* best = nullptr;
  size_t bestDistance = 0;
  std::string plainName = plain(name);
  for (const std::string& candidate : candidates) {
    if (candidate == name)
      continue;
    if (!plainName.empty() && plain(candidate) == plainName)
      return candidate;
    size_t distance = editDistance(name, candidate);
    bool isBetter = !best || distance < bestDistance ||
                    (distance == bestDistance && best->size() != name.size() &&
                     candidate.size() == name.size());
    if (isNear(name, candidate, distance) && isBetter) {
      best = &candidate;
      bestDistance = distance;
    }
  }
  if (!best)
    return std::nullopt;
  return *best;
}

bool isSurelyMeant(std::string_view name, const std::string& meant,
                   const std::vector<std::string>& candidates) {
  constexpr size_t mostLetters = 2;
  if (editDistance(name, meant) > mostLetters && plain(meant) != plain(name))
    return false;
  return std::none_of(
      candidates.begin(), candidates.end(), [&](const std::string& other) {
        size_t distance = editDistance(name, other);
        return other != meant && other != name && distance <= mostLetters &&
               isNear(name, other, distance);
      });
}

} // namespace recipec::diag
