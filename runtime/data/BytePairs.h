// Byte-pair encoding of one word (Sennrich et al. 2016), with the ranked merges
// of a tokenizer.json and in exactly the order in which `tokenizers` applies
// them.

#ifndef RECIPERUN_DATA_BYTEPAIRS_H
#define RECIPERUN_DATA_BYTEPAIRS_H

#include "runtime/base/Status.h"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace reciperun::data {

/// Looks strings up by string_view.
struct TextHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const {
    return std::hash<std::string_view>()(text);
  }
};
template <class T>
using TextMap = std::unordered_map<std::string, T, TextHash, std::equal_to<>>;

/// The BPE model of a tokenizer.json.
struct BytePairRules {
  TextMap<int32_t> vocabulary;
  std::vector<std::pair<std::string, std::string>> merges; // by rank
  /// Words are split into characters, and those without a token into the bytes
  /// `<0x00>` to `<0xFF>` (SentencePiece). Otherwise tokens are in the
  /// byte-level alphabet, and words are split into bytes.
  bool isOfCharacters = false;
  bool ignoreMerges = false; // a word that is a token is not split
  bool fuseUnknown = false;
  int32_t unknown = -1; // replaces bytes without a token; -1: drop them
};

/// Caches encoded words, so it is not thread-safe.
class BytePairs {
public:
  /// Fails when a merge names a token that the vocabulary lacks.
  static Expected<BytePairs> build(const BytePairRules& rules);

  /// Appends the ids of a word, which is UTF-8.
  void encode(std::string_view word, std::vector<int32_t>& ids) const;

  /// Appends the ids of single bytes or characters, without merges.
  void spell(std::string_view bytes, std::vector<int32_t>& ids) const;

  /// The number of bytes that occur in UTF-8 and have no token of their own.
  int missingBytes() const { return missing; }

private:
  struct Merge {
    int32_t rank = 0;
    int32_t token = 0;
  };
  struct Symbol {
    int32_t token = 0;
    int previous = -1;
    int next = -1;
    bool alive = true;
  };
  struct Candidate {
    int32_t rank = 0;
    int place = 0;
    int32_t token = 0;
  };
  class Queue;

  const Merge* mergeOf(int32_t left, int32_t right) const;
  void symbolsOf(std::string_view word, std::vector<Symbol>& symbols) const;
  void characterSymbols(std::string_view word,
                        std::vector<Symbol>& symbols) const;
  void byteSymbols(std::string_view word, std::vector<Symbol>& symbols) const;
  void mergeAll(std::vector<Symbol>& symbols) const;
  void encodeUncached(std::string_view word, std::vector<int32_t>& ids) const;

  std::array<int32_t, 256> byteTokens{};
  TextMap<int32_t> characters; // tokens of one character
  bool isOfCharacters = false;
  std::unordered_map<uint64_t, Merge> merges; // by left << 32 | right
  TextMap<int32_t> wholeWords;                // by the text of a word
  bool ignoreMerges = false;
  bool fuseUnknown = false;
  int32_t unknown = -1;
  int missing = 0;
  mutable TextMap<std::vector<int32_t>> cache;
};

} // namespace reciperun::data

#endif // RECIPERUN_DATA_BYTEPAIRS_H
