// Tokenizes the texts of a data set, and distinguishes two kinds of text. The
// recipe's text (the chat template) may have control tokens such as
// `<|im_start|>`. In user text the same characters are plain text, unless
// `data.special_tokens` is set.

#ifndef RECIPERUN_DATA_TEXTENCODER_H
#define RECIPERUN_DATA_TEXTENCODER_H

#include "runtime/base/Status.h"
#include "runtime/data/Tokenizer.h"
#include "runtime/plan/Plan.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace reciperun::data {

class TextEncoder {
public:
  /// Control tokens are the tokenizer's special tokens, the tokens of the chat
  /// template, the model's `bos_token` and `eos_token`, and the added tokens
  /// among the ids `more`. The tokenizer must outlive the object.
  TextEncoder(const plan::Data& data, const Tokenizer& tokenizer,
              std::span<const int32_t> more = {});

  /// The ids of recipe text.
  Expected<std::vector<int32_t>> recipeText(std::string_view text) const;
  /// The ids of user text, without control tokens; `continues` as for
  /// Tokenizer::encode.
  Expected<std::vector<int32_t>> userText(std::string_view text,
                                          bool continues = false) const;
  /// Passes the ids of user text to `sink` in chunks.
  Status userText(std::string_view text, const Tokenizer::IdSink& sink,
                  bool continues = false) const;

  /// Whether each id is a control token; all false with `data.special_tokens`.
  const std::vector<bool>& controlTokens() const { return hidden; }

private:
  void hideAdded(std::span<const int32_t> ids);

  const Tokenizer& tokenizer;
  std::vector<bool> hidden; // by id
};

/// The error text for an id that is not below the model's `vocab`. It names the
/// tokenizer, because a frequent cause is that the tokenizer was replaced after
/// the plan was compiled.
std::string tooLargeId(const plan::Data& data, const Tokenizer& tokenizer,
                       int32_t id);

} // namespace reciperun::data

#endif // RECIPERUN_DATA_TEXTENCODER_H
