// Walks a trie over the tokens' bytes from each offset of the text; the deepest
// token on the path is the longest match (`find_matches` of `tokenizers`).

#include "runtime/data/AddedTokens.h"

#include "runtime/base/StopSignal.h"
#include "runtime/data/Utf8.h"

#include <algorithm>

namespace reciperun::data {

namespace {

constexpr size_t stopInterval = 1 << 12; // bytes

} // namespace

Expected<AddedTokens> AddedTokens::build(std::vector<AddedToken> list) {
  AddedTokens added;
  added.tokens = std::move(list);
  added.trie.emplace_back();
  for (size_t i = 0; i < added.tokens.size(); ++i)
    added.insert(static_cast<int>(i));

  Expected<Pattern> word = Pattern::compile("\\w");
  RECIPERUN_TRY(word);
  added.word = std::move(*word);
  Expected<Pattern> space = Pattern::compile("\\s+");
  RECIPERUN_TRY(space);
  added.space = std::move(*space);
  return added;
}

void AddedTokens::insert(int token) {
  int node = 0;
  for (char c : tokens[token].content) {
    int child = childOf(node, c);
    if (child < 0) {
      child = static_cast<int>(trie.size());
      trie[node].children.push_back({c, child});
      trie.emplace_back();
    }
    node = child;
  }
  trie[node].token = token;
}

int AddedTokens::childOf(int node, char c) const {
  for (const auto& [byte, child] : trie[node].children)
    if (byte == c)
      return child;
  return -1;
}

int AddedTokens::longestAt(std::string_view text, size_t at,
                           const std::vector<bool>& hidden) const {
  const auto isLookedFor = [&](int token) {
    const auto id = static_cast<size_t>(tokens[token].id);
    return id >= hidden.size() || !hidden[id];
  };
  int best = -1;
  int node = 0;
  for (; at < text.size(); ++at) {
    node = childOf(node, text[at]);
    if (node < 0)
      break;
    if (trie[node].token >= 0 && isLookedFor(trie[node].token))
      best = trie[node].token;
  }
  return best;
}

Status AddedTokens::split(std::string_view text, std::vector<TextPart>& parts,
                          const std::vector<bool>& hidden) const {
  size_t done = 0;
  for (size_t at = 0; at < text.size();) {
    if (at % stopInterval == 0)
      RECIPERUN_TRY(checkStopSignal());
    const int match = longestAt(text, at, hidden);
    if (match < 0) {
      ++at;
      continue;
    }
    const AddedToken& token = tokens[match];
    Span span{at, at + token.content.size()};
    at = span.end;
    if (token.singleWord) {
      const Expected<bool> touches = touchesWord(text, span);
      RECIPERUN_TRY(touches);
      if (*touches)
        continue;
    }
    const Expected<Span> wide = widened(text, span, done, token);
    RECIPERUN_TRY(wide);
    if (wide->begin > done)
      parts.push_back({text.substr(done, wide->begin - done)});
    parts.push_back(
        {text.substr(wide->begin, wide->end - wide->begin), token.id});
    done = wide->end;
    at = std::max(at, done);
  }
  if (done < text.size())
    parts.push_back({text.substr(done)});
  return {};
}

Expected<bool> AddedTokens::touchesWord(std::string_view text,
                                        Span span) const {
  const auto isWord = [&](size_t begin) -> Expected<bool> {
    const size_t bytes = utf8UnitAt(text, begin).bytes;
    std::vector<Span> found;
    RECIPERUN_TRY(word->matches(text.substr(begin, bytes), found));
    return !found.empty();
  };
  if (span.begin > 0) {
    size_t before = span.begin - 1;
    while ((static_cast<uint8_t>(text[before]) & 0xC0) == 0x80)
      --before;
    const Expected<bool> touches = isWord(before);
    if (!touches || *touches)
      return touches;
  }
  if (span.end < text.size())
    return isWord(span.end);
  return false;
}

Expected<Span> AddedTokens::widened(std::string_view text, Span span,
                                    size_t from,
                                    const AddedToken& token) const {
  std::vector<Span> found;
  if (token.stripLeft) {
    const std::string_view before = text.substr(from, span.begin - from);
    RECIPERUN_TRY(space->matches(before, found));
    if (!found.empty() && found.back().end == before.size())
      span.begin = from + found.back().begin;
  }
  if (token.stripRight) {
    found.clear();
    RECIPERUN_TRY(space->matches(text.substr(span.end), found));
    if (!found.empty() && found.front().begin == 0)
      span.end += found.front().end;
  }
  return span;
}

} // namespace reciperun::data
