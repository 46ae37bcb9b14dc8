// 1. A word's bytes or characters become a doubly linked list of symbols.
// 2. A heap holds the adjacent pairs that can merge, by rank, then by offset.
// 3. The best pair is merged; the pairs with its new neighbours enter the heap;
//    entries whose symbols have changed meanwhile are skipped.
//
// A word costs O(n log n). Short words are cached.

#include "runtime/data/BytePairs.h"

#include "runtime/base/StopSignal.h"
#include "runtime/data/ByteLevel.h"
#include "runtime/data/Utf8.h"

#include <algorithm>
#include <cstdio>

namespace reciperun::data {

namespace {

constexpr size_t cachedWords = 1 << 16;
constexpr size_t cachedWordBytes = 64;

uint64_t pairKey(int32_t left, int32_t right) {
  return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32 |
         static_cast<uint32_t>(right);
}

/// The bytes C0, C1 and F5..FF never occur in UTF-8.
bool occursInUtf8(int byte) {
  return byte < 0xC0 || (byte > 0xC1 && byte < 0xF5);
}

/// SentencePiece's token of a byte.
std::string byteToken(int byte) {
  char text[8];
  std::snprintf(text, sizeof text, "<0x%02X>", byte);
  return text;
}

bool isOneCharacter(std::string_view token) {
  return !token.empty() && utf8UnitAt(token, 0).bytes == token.size();
}

Status absent(const std::string& token, size_t merge) {
  return Status::error("merge " + std::to_string(merge + 1) + " names `" +
                       token +
                       "`, which `model.vocab` lacks; the file is damaged: "
                       "download or copy it again");
}

} // namespace

Expected<BytePairs> BytePairs::build(const BytePairRules& rules) {
  BytePairs pairs;
  pairs.isOfCharacters = rules.isOfCharacters;
  pairs.ignoreMerges = rules.ignoreMerges;
  pairs.fuseUnknown = rules.fuseUnknown;
  pairs.unknown = rules.unknown;

  const auto idOf = [&](const std::string& token) {
    const auto found = rules.vocabulary.find(token);
    return found == rules.vocabulary.end() ? -1 : found->second;
  };
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    pairs.byteTokens[byte] =
        idOf(rules.isOfCharacters ? byteToken(byte) : byteLevelToken({&c, 1}));
    if (pairs.byteTokens[byte] < 0 && occursInUtf8(byte))
      ++pairs.missing;
  }
  if (rules.isOfCharacters)
    for (const auto& [token, id] : rules.vocabulary)
      if (isOneCharacter(token))
        pairs.characters.emplace(token, id);
  for (size_t i = 0; i < rules.merges.size(); ++i) {
    const auto& [left, right] = rules.merges[i];
    for (const std::string& token : {left, right, left + right})
      if (idOf(token) < 0)
        return absent(token, i);
    // The last of two equal merges wins, as in a map that is filled in order.
    pairs.merges[pairKey(idOf(left), idOf(right))] = {static_cast<int32_t>(i),
                                                      idOf(left + right)};
  }
  if (rules.ignoreMerges)
    for (const auto& [token, id] : rules.vocabulary)
      if (const auto bytes =
              rules.isOfCharacters ? token : byteLevelBytes(token))
        pairs.wholeWords.emplace(*bytes, id);
  return pairs;
}

/// A heap with the best candidate on top: the lowest rank, then the leftmost.
class BytePairs::Queue {
public:
  void push(Candidate candidate) {
    heap.push_back(candidate);
    std::push_heap(heap.begin(), heap.end(), after);
  }
  Candidate pop() {
    std::pop_heap(heap.begin(), heap.end(), after);
    const Candidate best = heap.back();
    heap.pop_back();
    return best;
  }
  bool empty() const { return heap.empty(); }

private:
  static bool after(const Candidate& a, const Candidate& b) {
    return a.rank != b.rank ? a.rank > b.rank : a.place > b.place;
  }
  std::vector<Candidate> heap;
};

const BytePairs::Merge* BytePairs::mergeOf(int32_t left, int32_t right) const {
  const auto found = merges.find(pairKey(left, right));
  return found == merges.end() ? nullptr : &found->second;
}

void BytePairs::characterSymbols(std::string_view word,
                                 std::vector<Symbol>& symbols) const {
  bool afterUnknown = false;
  while (!word.empty()) {
    const std::string_view character =
        word.substr(0, utf8UnitAt(word, 0).bytes);
    word.remove_prefix(character.size());
    const auto found = characters.find(character);
    const bool hasBytes =
        std::all_of(character.begin(), character.end(), [&](char c) {
          return byteTokens[static_cast<uint8_t>(c)] >= 0;
        });
    if (found != characters.end())
      symbols.push_back({found->second});
    else if (hasBytes)
      for (char c : character)
        symbols.push_back({byteTokens[static_cast<uint8_t>(c)]});
    else if (unknown >= 0 && !(fuseUnknown && afterUnknown))
      symbols.push_back({unknown});
    afterUnknown = found == characters.end() && !hasBytes;
  }
}

void BytePairs::byteSymbols(std::string_view word,
                            std::vector<Symbol>& symbols) const {
  bool afterUnknown = false;
  for (char c : word) {
    const int32_t token = byteTokens[static_cast<uint8_t>(c)];
    const bool isUnknown = token < 0;
    const bool dropped =
        isUnknown && (unknown < 0 || (fuseUnknown && afterUnknown));
    if (!dropped)
      symbols.push_back({isUnknown ? unknown : token});
    afterUnknown = isUnknown;
  }
}

void BytePairs::symbolsOf(std::string_view word,
                          std::vector<Symbol>& symbols) const {
  if (isOfCharacters)
    characterSymbols(word, symbols);
  else
    byteSymbols(word, symbols);
  const int count = static_cast<int>(symbols.size());
  for (int i = 0; i < count; ++i) {
    symbols[i].previous = i - 1;
    symbols[i].next = i + 1 < count ? i + 1 : -1;
  }
}

void BytePairs::mergeAll(std::vector<Symbol>& symbols) const {
  Queue queue;
  const auto propose = [&](int place) {
    if (place < 0 || symbols[place].next < 0)
      return;
    const int32_t right = symbols[symbols[place].next].token;
    if (const Merge* merge = mergeOf(symbols[place].token, right))
      queue.push({merge->rank, place, merge->token});
  };
  for (size_t i = 0; i < symbols.size(); ++i)
    propose(static_cast<int>(i));

  // A word may be as long as a book. A run that stops does not read the ids, so
  // unfinished merges do no harm.
  while (!queue.empty() && stopSignal() == 0) {
    const Candidate best = queue.pop();
    Symbol& left = symbols[best.place];
    if (!left.alive || left.next < 0)
      continue;
    Symbol& right = symbols[left.next];
    const Merge* merge = mergeOf(left.token, right.token);
    // An outdated entry: the pair at this offset now makes another token.
    if (!merge || merge->token != best.token)
      continue;
    left.token = best.token;
    left.next = right.next;
    right.alive = false;
    if (right.next >= 0)
      symbols[right.next].previous = best.place;
    propose(left.previous);
    propose(best.place);
  }
}

void BytePairs::encodeUncached(std::string_view word,
                               std::vector<int32_t>& ids) const {
  if (ignoreMerges) {
    if (const auto whole = wholeWords.find(word); whole != wholeWords.end()) {
      ids.push_back(whole->second);
      return;
    }
  }
  std::vector<Symbol> symbols;
  symbols.reserve(word.size());
  symbolsOf(word, symbols);
  mergeAll(symbols);
  for (const Symbol& symbol : symbols)
    if (symbol.alive)
      ids.push_back(symbol.token);
}

void BytePairs::spell(std::string_view bytes, std::vector<int32_t>& ids) const {
  std::vector<Symbol> symbols;
  symbolsOf(bytes, symbols);
  for (const Symbol& symbol : symbols)
    ids.push_back(symbol.token);
}

void BytePairs::encode(std::string_view word, std::vector<int32_t>& ids) const {
  if (word.size() > cachedWordBytes)
    return encodeUncached(word, ids);
  auto entry = cache.find(word);
  if (entry == cache.end()) {
    if (cache.size() == cachedWords)
      cache.clear();
    std::vector<int32_t> fresh;
    encodeUncached(word, fresh);
    entry = cache.emplace(std::string(word), std::move(fresh)).first;
  }
  ids.insert(ids.end(), entry->second.begin(), entry->second.end());
}

} // namespace reciperun::data
