// Hugging Face's byte-level BPE tokenizers (GPT-2, Llama 3, Qwen, ...), read
// from a tokenizer.json and applied exactly.
//
// A text goes through: added tokens, normalizer, pre-tokenizer, merges,
// post-processor. Settings for truncation and padding are not applied: the
// loader has rules of its own for lengths.

#ifndef RECIPERUN_DATA_TOKENIZER_H
#define RECIPERUN_DATA_TOKENIZER_H

#include "runtime/base/Status.h"
#include "runtime/data/AddedTokens.h"
#include "runtime/data/BytePairs.h"
#include "runtime/data/Normalizer.h"
#include "runtime/data/PreTokenizer.h"

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace reciperun::data {

/// The parts of a tokenizer.json, checked (see TokenizerJson.h).
struct TokenizerParts {
  NormalizationForm normalization = NormalizationForm::none;
  std::vector<SplitStep> steps;
  bool addPrefixSpace = false;
  size_t prefixAfter = 0;
  BytePairRules rules;
  std::vector<AddedToken> added;
  /// What the post-processor puts around a text.
  std::vector<int32_t> before, after;
};

/// Not for use by two threads at once (the words of earlier texts are kept).
class Tokenizer {
public:
  /// Reads a tokenizer.json. Fails, naming the file, where it cannot be read,
  /// is no tokenizer, or is one of another type than byte-level BPE.
  static Expected<Tokenizer> read(const std::string& path);
  /// The same from the file's text; `name` stands in messages.
  static Expected<Tokenizer> parse(std::string text, const std::string& name);

  /// The ids of a text; with `addSpecial` also those that the post-processor
  /// puts around it. Ill-formed UTF-8 counts as U+FFFD. Fails where a pattern
  /// of the tokenizer does, and once the run is to stop.
  Expected<std::vector<int32_t>> encode(std::string_view text,
                                        bool addSpecial = false) const;
  /// Takes the next ids of a text.
  using IdSink = std::function<Status(std::span<const int32_t>)>;
  /// Gives the ids of a text, some at a time, to `sink`. The tokens whose id is
  /// `hidden` do not occur: what is spelled as one of them is cut into others.
  Status encode(std::string_view text, const std::vector<bool>& hidden,
                const IdSink& sink) const;

  /// The text of ids, always well-formed UTF-8; ids that no token has are
  /// skipped.
  std::string decode(std::span<const int32_t> ids,
                     bool skipSpecial = true) const;

  /// One more than the largest id.
  int64_t size() const { return static_cast<int64_t>(tokens.size()); }
  /// The id of a token in the file's spelling, normalized where the token is
  /// `normalized`; -1 where there is none.
  int32_t idOf(std::string_view token) const;
  /// The bytes that an id stands for; they may end inside a code point.
  const std::string& bytesOf(int32_t id) const;
  bool isSpecial(int32_t id) const;
  /// Whether the id is that of one of the file's `added_tokens`.
  bool isAdded(int32_t id) const;
  /// Bytes that occur in UTF-8 but have no token: texts with them lose them,
  /// as with `tokenizers`. 0 for a tokenizer trained on the whole alphabet.
  int missingBytes() const { return pairs.missingBytes(); }
  /// The file as it was read, to be written beside an exported model.
  const std::string& fileText() const { return text; }

private:
  struct Token {
    std::string bytes;
    bool added = false;
    bool special = false;
  };

  Tokenizer(TokenizerParts parts, BytePairs pairs, AddedTokens raw,
            AddedTokens normalized, std::string text);
  void collectTokens(const TokenizerParts& parts);
  struct Encoding;
  Status encodeNormalized(std::string_view piece, Encoding& encoding) const;
  Status encodePlain(std::string_view piece, Encoding& encoding) const;
  void spellHidden(size_t first, const std::vector<bool>& hidden,
                   std::vector<int32_t>& ids) const;

  NormalizationForm normalization;
  PreTokenizer preTokenizer;
  BytePairs pairs;
  AddedTokens rawTokens;        // looked for in the text as it is
  AddedTokens normalizedTokens; // looked for in the normalized text
  std::vector<int32_t> before, after;
  std::vector<Token> tokens; // by id
  TextMap<int32_t> ids;
  std::string text;
};

/// Turns ids into text one at a time, never ending inside a code point.
class StreamDecoder {
public:
  explicit StreamDecoder(const Tokenizer& tokenizer, bool skipSpecial = true)
      : tokenizer(tokenizer), skipSpecial(skipSpecial) {}

  /// The text that this id completes, possibly empty.
  std::string next(int32_t id);
  /// What the last ids left unfinished, as U+FFFD.
  std::string finish();

private:
  const Tokenizer& tokenizer;
  bool skipSpecial;
  std::string pending;
};

} // namespace reciperun::data

#endif // RECIPERUN_DATA_TOKENIZER_H
