// "Did you mean": the candidate at the smallest edit distance.
//
// The distance counts insertions, deletions, substitutions and transpositions
// of neighbours (optimal string alignment). A candidate is near when at most a
// third of the longer name was changed; a difference of case or of `_` and `-`
// alone is always near. Of two at one distance the one of the same length is
// taken, a substitution being likelier than a missing letter.

#include "compiler/diag/Diagnostic.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>

namespace recipec::diag {

/// Nobody means another name by one that is longer.
static constexpr size_t longestCompared = 100;

/// A bit a character that the name has, of characters taken modulo 64.
static uint64_t charactersOf(std::string_view name) {
  uint64_t result = 0;
  for (char c : name)
    result |= uint64_t(1) << (static_cast<unsigned char>(c) % 64);
  return result;
}

/// The distance where it is at most `most`.
static std::optional<size_t> editDistance(std::string_view a,
                                          std::string_view b, size_t most) {
  while (!a.empty() && !b.empty() && a.front() == b.front()) {
    a.remove_prefix(1);
    b.remove_prefix(1);
  }
  while (!a.empty() && !b.empty() && a.back() == b.back()) {
    a.remove_suffix(1);
    b.remove_suffix(1);
  }
  size_t longer = std::max(a.size(), b.size());
  size_t shorter = std::min(a.size(), b.size());
  if (longer > longestCompared || longer - shorter > most)
    return std::nullopt;
  // An edit changes two bits at most; this is quick, and nearly all names end
  // here.
  if (size_t(std::popcount(charactersOf(a) ^ charactersOf(b))) > 2 * most)
    return std::nullopt;
  std::array<size_t, longestCompared + 1> rows[3];
  auto *beforeLast = &rows[0], *last = &rows[1], *current = &rows[2];
  for (size_t j = 0; j <= b.size(); ++j)
    (*last)[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t least = (*current)[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t& here = (*current)[j];
      here = std::min({(*last)[j] + 1, (*current)[j - 1] + 1,
                       (*last)[j - 1] + (a[i - 1] != b[j - 1])});
      bool swapped =
          i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped)
        here = std::min(here, (*beforeLast)[j - 2] + 1);
      least = std::min(least, here);
    }
    // A swap looks back two rows, and costs one.
    if (least > most + 1)
      return std::nullopt;
    std::swap(beforeLast, last);
    std::swap(last, current);
  }
  size_t distance = (*last)[b.size()];
  return distance <= most ? std::optional(distance) : std::nullopt;
}

/// Whether the names differ in case and separators alone.
static bool isSamePlainly(std::string_view a, std::string_view b) {
  auto isSeparator = [](char c) { return c == '_' || c == '-'; };
  size_t i = 0, j = 0;
  bool hasLetter = false;
  while (true) {
    while (i < a.size() && isSeparator(a[i]))
      ++i;
    while (j < b.size() && isSeparator(b[j]))
      ++j;
    if (i == a.size() || j == b.size())
      return hasLetter && i == a.size() && j == b.size();
    auto x = static_cast<unsigned char>(a[i++]);
    auto y = static_cast<unsigned char>(b[j++]);
    if (std::tolower(x) != std::tolower(y))
      return false;
    hasLetter = true;
  }
}

/// The distance where one name may be a misspelling of the other.
static std::optional<size_t> nearDistance(std::string_view name,
                                          std::string_view candidate) {
  size_t longer = std::max(name.size(), candidate.size());
  auto distance =
      editDistance(name, candidate, std::max<size_t>(1, longer / 3));
  return distance < longer ? distance : std::nullopt;
}

std::optional<std::string>
didYouMean(std::string_view name, const std::vector<std::string>& candidates) {
  const std::string* best = nullptr;
  size_t bestDistance = 0;
  for (const std::string& candidate : candidates) {
    if (candidate == name)
      continue;
    if (isSamePlainly(name, candidate))
      return candidate;
    auto distance = nearDistance(name, candidate);
    bool isBetter = !best || distance < bestDistance ||
                    (distance == bestDistance && best->size() != name.size() &&
                     candidate.size() == name.size());
    if (distance && isBetter) {
      best = &candidate;
      bestDistance = *distance;
    }
  }
  if (!best)
    return std::nullopt;
  return *best;
}

static std::string withoutDigits(std::string_view name) {
  std::string letters;
  for (char c : name)
    if (!std::isdigit(static_cast<unsigned char>(c)))
      letters += c;
  return letters;
}

std::vector<std::string> nearNames(std::string_view name,
                                   const std::vector<std::string>& candidates) {
  std::optional<std::string> best = didYouMean(name, candidates);
  if (!best)
    return {};
  std::vector<std::string> names = {*best};
  const std::string letters = withoutDigits(name);
  auto distance = nearDistance(name, *best);
  if (!distance || isSamePlainly(name, *best) ||
      withoutDigits(*best) != letters)
    return names;
  for (const std::string& each : candidates)
    if (each != *best && withoutDigits(each) == letters &&
        nearDistance(name, each) == distance && names.size() < 3)
      names.push_back(each);
  auto alike = [&](const std::string& other) {
    return std::mismatch(name.begin(), name.end(), other.begin(), other.end())
               .first -
           name.begin();
  };
  std::stable_sort(names.begin(), names.end(),
                   [&](const std::string& a, const std::string& b) {
                     return alike(a) > alike(b);
                   });
  return names;
}

bool isSurelyMeant(std::string_view name, const std::string& meant,
                   const std::vector<std::string>& candidates) {
  constexpr size_t mostLetters = 2;
  auto isClose = [&](const std::string& other) {
    return editDistance(name, other, mostLetters).has_value();
  };
  if (!isClose(meant) && !isSamePlainly(meant, name))
    return false;
  return std::none_of(candidates.begin(), candidates.end(),
                      [&](const std::string& other) {
                        return other != meant && other != name &&
                               isClose(other) && nearDistance(name, other);
                      });
}

} // namespace recipec::diag
