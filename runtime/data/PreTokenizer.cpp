// Each step splits each word of the previous step, so that a pattern never
// matches across an earlier split. A word goes through all steps before the
// next one is searched for, so memory does not grow with the text.
//
// A split has two parts: list the matches and gaps of the pattern in order,
// marked as match or not; then merge or drop marked parts by the behavior,
// exactly as `NormalizedString::split` of `tokenizers` does.

#include "runtime/data/PreTokenizer.h"

#include <algorithm>
#include <functional>

namespace reciperun::data {

namespace {

struct Part {
  Span span;
  bool match = false;
};

/// Joins matches and gaps to words: a part extends the previous word or starts
/// a new one.
class Joiner {
public:
  Joiner(SplitBehavior behavior, const std::function<Status(Span)>& sink)
      : behavior(behavior), sink(sink) {}

  Status add(Part part) {
    if (part.match && behavior == SplitBehavior::removed)
      return {};
    if (!pending || !joins(part)) {
      RECIPERUN_TRY(finish());
      pending = part;
      return {};
    }
    pending->span.end = part.span.end;
    pending->match = part.match;
    return {};
  }

  /// Emits the last word.
  Status finish() {
    if (!pending || pending->span.begin == pending->span.end)
      return {};
    return sink(pending->span);
  }

private:
  bool joins(const Part& part) const {
    switch (behavior) {
    case SplitBehavior::contiguous:
      return part.match == pending->match;
    case SplitBehavior::mergedWithPrevious:
      return part.match && !pending->match;
    case SplitBehavior::mergedWithNext:
      return !part.match && pending->match;
    case SplitBehavior::isolated:
    case SplitBehavior::removed:
      return false;
    }
    return false;
  }

  SplitBehavior behavior;
  const std::function<Status(Span)>& sink;
  std::optional<Part> pending;
};

} // namespace

PreTokenizer::PreTokenizer(std::vector<SplitStep> steps, bool addPrefixSpace,
                           size_t prefixAfter,
                           std::optional<PrependScheme> scheme)
    : steps(std::move(steps)), addPrefixSpace(addPrefixSpace),
      prefixAfter(prefixAfter), scheme(scheme) {}

Status PreTokenizer::run(std::string_view text, bool isFirst,
                         const WordSink& sink) const {
  if (text.empty())
    return {};
  return scheme ? cut(0, withMetaspaces(text, isFirst), sink)
                : cut(0, text, sink);
}

std::string PreTokenizer::withMetaspaces(std::string_view text,
                                         bool isFirst) const {
  std::string replaced;
  const bool prepends = *scheme == PrependScheme::always ||
                        (*scheme == PrependScheme::first && isFirst);
  if (prepends && !text.starts_with(' ') && !text.starts_with(metaspace))
    replaced += metaspace;
  for (const char c : text)
    if (c == ' ')
      replaced += metaspace;
    else
      replaced += c;
  return replaced;
}

Status PreTokenizer::cut(size_t step, std::string_view word,
                         const WordSink& sink) const {
  std::string prefixed;
  if (addPrefixSpace && step == prefixAfter && !word.starts_with(' ')) {
    prefixed = " " + std::string(word);
    word = prefixed;
  }
  if (step == steps.size())
    return sink(word);
  const std::function<Status(Span)> next = [&](Span span) {
    return cut(step + 1, word.substr(span.begin, span.end - span.begin), sink);
  };
  Joiner joiner(steps[step].behavior, next);
  Pattern::Matches matches(steps[step].pattern, word);
  const bool invert = steps[step].invert;
  size_t end = 0;
  for (;;) {
    const Expected<std::optional<Span>> match = matches.next();
    RECIPERUN_TRY(match);
    const size_t gapEnd = *match ? (*match)->begin : word.size();
    if (gapEnd != end)
      RECIPERUN_TRY(joiner.add({{end, gapEnd}, invert}));
    if (!*match)
      return joiner.finish();
    RECIPERUN_TRY(joiner.add({**match, !invert}));
    end = (*match)->end;
  }
}

} // namespace reciperun::data
