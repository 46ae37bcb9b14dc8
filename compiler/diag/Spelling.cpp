// "Did you mean": the candidate at the smallest edit distance.
//
// The distance counts insertions, deletions and substitutions. Two transposed
// neighbours count as one if nothing else differs. A candidate is near when at
// most a third of the longer name differs, or when only case or `_` and `-`
// differ. At equal distance a candidate of the same length wins, because a
// substitution is likelier than a missing letter.

#include "compiler/diag/Diagnostic.h"

#include "llvm/ADT/StringRef.h"

#include <algorithm>
#include <cctype>

namespace recipec::diag {

/// Longer differences are not compared: nobody types them by mistake.
static constexpr size_t longestCompared = 100;

/// The edit distance, or nullopt when it is above `most`.
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
  if (std::max(a.size(), b.size()) > longestCompared)
    return std::nullopt;
  bool isSwapped =
      a.size() == 2 && b.size() == 2 && a[0] == b[1] && a[1] == b[0];
  size_t distance = isSwapped ? 1
                              : llvm::StringRef(a).edit_distance(
                                    b, /*AllowReplacements=*/true,
                                    /*MaxEditDistance=*/unsigned(most));
  return distance <= most ? std::optional(distance) : std::nullopt;
}

/// Whether the names differ only in case and separators.
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

/// The edit distance if one name may be a misspelling of the other, else
/// nullopt.
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

/// The parts of a name between `_`.
static std::vector<std::string_view> partsOf(std::string_view name) {
  std::vector<std::string_view> parts;
  for (size_t end = name.find('_'); end != name.npos; end = name.find('_')) {
    parts.push_back(name.substr(0, end));
    name.remove_prefix(end + 1);
  }
  parts.push_back(name);
  return parts;
}

/// Whether a candidate has all parts of a name in their order, and more:
/// `llama3_2_1b` those of `llama3_1b`.
static bool hasPartsOf(std::string_view candidate, std::string_view name) {
  const std::vector<std::string_view> wanted = partsOf(name);
  const std::vector<std::string_view> parts = partsOf(candidate);
  size_t found = 0;
  for (std::string_view part : parts)
    found += found < wanted.size() && part == wanted[found];
  return wanted.size() > 1 && found == wanted.size() &&
         parts.size() == found + 1 && parts.front() == wanted.front() &&
         parts.back() == wanted.back();
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
  std::vector<std::string> longer;
  for (const std::string& each : candidates)
    if (hasPartsOf(each, name) && longer.size() < 3)
      longer.push_back(each);
  if (!longer.empty())
    return longer;
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

/// Whether a letter of a short name is replaced, which may be another word:
/// `gpu` is no slip of `cpu`.
static bool isOtherWord(std::string_view name, std::string_view meant) {
  constexpr size_t mostLetters = 3;
  auto sorted = [](std::string_view text) {
    std::string letters(text);
    std::sort(letters.begin(), letters.end());
    return letters;
  };
  return name.size() <= mostLetters && name.size() == meant.size() &&
         sorted(name) != sorted(meant) && !isSamePlainly(name, meant);
}

bool isSurelyMeant(std::string_view name, const std::string& meant,
                   const std::vector<std::string>& candidates) {
  constexpr size_t mostLetters = 2;
  auto isClose = [&](const std::string& other) {
    return editDistance(name, other, mostLetters).has_value();
  };
  if ((!isClose(meant) && !isSamePlainly(meant, name)) ||
      isOtherWord(name, meant))
    return false;
  return std::none_of(candidates.begin(), candidates.end(),
                      [&](const std::string& other) {
                        return other != meant && other != name &&
                               isClose(other) && nearDistance(name, other);
                      });
}

} // namespace recipec::diag
