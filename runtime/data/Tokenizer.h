// Hugging Face's BPE tokenizers, read from a tokenizer.json and applied
// exactly: byte-level ones (GPT-2, Llama 3, Qwen, ...) and those of
// SentencePiece with `byte_fallback` (Llama 2, Mistral, Gemma, ...).
//
// A text passes through: added tokens, normalizer, pre-tokenizer, merges,
// post-processor. Settings for truncation and padding are ignored: the loader
// has its own rules for lengths.

#ifndef RECIPERUN_DATA_TOKENIZER_H
#define RECIPERUN_DATA_TOKENIZER_H

#include "runtime/base/Status.h"
#include "runtime/data/AddedTokens.h"
#include "runtime/data/BytePairs.h"
#include "runtime/data/Normalizer.h"
#include "runtime/data/PreTokenizer.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace reciperun::data {

/// What a decoder removes from the start of a text.
enum class LeadingSpace {
  kept,
  one,       // one space (`Strip`)
  firstToken // all spaces of the first token (`Metaspace`)
};

/// The validated contents of a tokenizer.json (see TokenizerJson.h).
struct TokenizerParts {
  std::vector<NormalizerStep> normalizer;
  std::vector<SplitStep> steps;
  bool addPrefixSpace = false;
  size_t prefixAfter = 0;
  std::optional<PrependScheme> scheme; // of Metaspace
  LeadingSpace leading = LeadingSpace::kept;
  BytePairRules rules;
  std::vector<AddedToken> added;
  /// The ids that the post-processor adds around a text.
  std::vector<int32_t> before, after;
};

/// Caches the words of earlier texts, so it is not thread-safe.
class Tokenizer {
public:
  /// Reads a tokenizer.json. Fails, naming the file, when it cannot be read, is
  /// not a tokenizer, or is of another type.
  static Expected<Tokenizer> read(const std::string& path);
  /// Parses the contents of a tokenizer.json; `name` is used in messages.
  static Expected<Tokenizer> parse(std::string text, const std::string& name);

  /// The ids of a text; `addSpecial` adds the ids of the post-processor.
  /// Ill-formed UTF-8 counts as U+FFFD. Fails when a pattern of the tokenizer
  /// does, and when the run is asked to stop.
  Expected<std::vector<int32_t>> encode(std::string_view text,
                                        bool addSpecial = false) const;
  /// Receives the next ids of a text.
  using IdSink = std::function<Status(std::span<const int32_t>)>;
  /// Passes the ids of a text to `sink` in chunks. Never emits a token whose id
  /// is `hidden`: text with its spelling is split into other tokens.
  /// `continues` says that other text is before this one, for tokenizers that
  /// add a space to the first text only.
  Status encode(std::string_view text, const std::vector<bool>& hidden,
                const IdSink& sink, bool continues = false) const;

  /// The text of ids, always well-formed UTF-8. Ids without a token are
  /// skipped.
  std::string decode(std::span<const int32_t> ids,
                     bool skipSpecial = true) const;

  /// One more than the largest id.
  int64_t size() const { return static_cast<int64_t>(tokens.size()); }
  /// The id of a token in the file's spelling, normalized when the token is
  /// `normalized`; -1 when there is none.
  int32_t idOf(std::string_view token) const;
  /// The bytes of an id; they may end inside a code point.
  const std::string& bytesOf(int32_t id) const;
  /// The bytes of the first id of a text, without the space that the decoder
  /// removes.
  std::string firstBytesOf(int32_t id) const;
  bool isSpecial(int32_t id) const;
  /// Whether the id is in the file's `added_tokens`.
  bool isAdded(int32_t id) const;
  /// The file's `added_tokens`, in its spelling and order.
  const std::vector<AddedToken>& addedTokens() const { return added; }
  /// The number of bytes that occur in UTF-8 but have no token. Texts lose
  /// them, as with `tokenizers`. 0 for a tokenizer trained on the whole
  /// alphabet.
  int missingBytes() const { return pairs.missingBytes(); }
  /// The file's contents, to be written next to an exported model.
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
  Status encodeNormalized(std::string_view piece, bool isFirst,
                          Encoding& encoding) const;
  Status encodePlain(std::string_view piece, bool isFirst,
                     Encoding& encoding) const;
  void spellHidden(size_t first, const std::vector<bool>& hidden,
                   std::vector<int32_t>& ids) const;

  std::vector<NormalizerStep> normalizer;
  PreTokenizer preTokenizer;
  BytePairs pairs;
  AddedTokens rawTokens;        // matched in the original text
  AddedTokens normalizedTokens; // matched in the normalized text
  std::vector<AddedToken> added;
  std::vector<int32_t> before, after;
  LeadingSpace leading;
  std::vector<Token> tokens; // by id
  TextMap<int32_t> ids;
  std::string text;
};

/// Decodes ids one at a time and never ends inside a code point.
class StreamDecoder {
public:
  explicit StreamDecoder(const Tokenizer& tokenizer, bool skipSpecial = true)
      : tokenizer(tokenizer), skipSpecial(skipSpecial) {}

  /// The text that this id completes, possibly empty.
  std::string next(int32_t id);
  /// The incomplete rest of the last ids, as U+FFFD.
  std::string finish();

private:
  const Tokenizer& tokenizer;
  bool skipSpecial;
  bool isFirst = true; // the next id
  std::string pending;
};

} // namespace reciperun::data

#endif // RECIPERUN_DATA_TOKENIZER_H
