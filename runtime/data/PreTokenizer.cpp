// Each step cuts each word of the step before it, so that a pattern never
// looks across an earlier cut.
//
// A cut has two parts: the words and gaps of the pattern in order, each marked
// as match or not; then the behavior merges or drops marked parts, exactly as
// `NormalizedString::split` of `tokenizers` does.

#include "runtime/data/PreTokenizer.h"

#include <algorithm>

namespace reciperun::data {

namespace {

struct Part {
  Span span;
  bool match = false;
};

std::vector<Part> markParts(const std::vector<Span>& matches, size_t size,
                            bool invert) {
  std::vector<Part> parts;
  size_t end = 0;
  for (Span match : matches) {
    if (match.begin != end)
      parts.push_back({{end, match.begin}, invert});
    parts.push_back({match, !invert});
    end = match.end;
  }
  if (end != size)
    parts.push_back({{end, size}, invert});
  return parts;
}

/// Joins a part to its left neighbour where `joins(part, neighbour)`.
template <class Joins>
std::vector<Span> joinParts(const std::vector<Part>& parts, Joins joins) {
  std::vector<Span> words;
  bool previousMatch = false;
  for (const Part& part : parts) {
    if (!words.empty() && joins(part.match, previousMatch))
      words.back().end = part.span.end;
    else
      words.push_back(part.span);
    previousMatch = part.match;
  }
  return words;
}

std::vector<Span> joinToNext(const std::vector<Part>& parts) {
  std::vector<Span> words;
  bool nextMatch = false;
  for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
    if (!words.empty() && part->match && !nextMatch)
      words.back().begin = part->span.begin;
    else
      words.push_back(part->span);
    nextMatch = part->match;
  }
  std::reverse(words.begin(), words.end());
  return words;
}

std::vector<Span> applyBehavior(const std::vector<Part>& parts,
                                SplitBehavior behavior) {
  switch (behavior) {
  case SplitBehavior::contiguous:
    return joinParts(
        parts, [](bool match, bool previous) { return match == previous; });
  case SplitBehavior::mergedWithPrevious:
    return joinParts(
        parts, [](bool match, bool previous) { return match && !previous; });
  case SplitBehavior::mergedWithNext:
    return joinToNext(parts);
  case SplitBehavior::isolated:
  case SplitBehavior::removed:
    break;
  }
  std::vector<Span> words;
  for (const Part& part : parts)
    if (!part.match || behavior == SplitBehavior::isolated)
      words.push_back(part.span);
  return words;
}

} // namespace

PreTokenizer::PreTokenizer(std::vector<SplitStep> steps, bool addPrefixSpace,
                           size_t prefixAfter)
    : steps(std::move(steps)), addPrefixSpace(addPrefixSpace),
      prefixAfter(prefixAfter) {}

Status PreTokenizer::run(std::string_view text, Words& words) const {
  words.views.clear();
  words.owned.clear();
  if (!text.empty())
    words.views.push_back(text);
  for (size_t i = 0; i <= steps.size(); ++i) {
    if (addPrefixSpace && i == prefixAfter)
      prefixSpaces(words);
    if (i < steps.size())
      RECIPERUN_TRY(runStep(steps[i], words));
  }
  return {};
}

Status PreTokenizer::runStep(const SplitStep& step, Words& words) const {
  std::vector<std::string_view> next;
  std::vector<Span> found;
  for (std::string_view word : words.views) {
    found.clear();
    RECIPERUN_TRY(step.pattern.matches(word, found));
    const std::vector<Part> parts = markParts(found, word.size(), step.invert);
    for (Span span : applyBehavior(parts, step.behavior))
      if (span.end > span.begin)
        next.push_back(word.substr(span.begin, span.end - span.begin));
  }
  words.views = std::move(next);
  return {};
}

void PreTokenizer::prefixSpaces(Words& words) const {
  for (std::string_view& word : words.views) {
    if (word.starts_with(' '))
      continue;
    words.owned.push_back(" " + std::string(word));
    word = words.owned.back();
  }
}

} // namespace reciperun::data
