// Turns the texts of a data set into ids, and keeps two kinds of text apart:
// the recipe's own words (the chat template) may hold control tokens such as
// `<|im_start|>`; in what users wrote the same characters are plain text,
// unless `data.special_tokens` says otherwise.

#ifndef RECIPERUN_DATA_TEXTENCODER_H
#define RECIPERUN_DATA_TEXTENCODER_H

#include "runtime/base/Status.h"
#include "runtime/data/Tokenizer.h"
#include "runtime/plan/Plan.h"

#include <cstdint>
#include <string_view>
#include <vector>

namespace reciperun::data {

class TextEncoder {
public:
  /// Control tokens are the tokenizer's special ones, those that the chat
  /// template is made of, and the model's `bos_token` and `eos_token`. Both
  /// arguments outlive the object.
  TextEncoder(const plan::Data& data, const Tokenizer& tokenizer);

  /// The ids of words of the recipe.
  Expected<std::vector<int32_t>> recipeText(std::string_view text) const;
  /// The ids of words of a user: never a control token.
  Expected<std::vector<int32_t>> userText(std::string_view text) const;
  /// The same, some ids at a time.
  Status userText(std::string_view text, const Tokenizer::IdSink& sink) const;

private:
  void hideAdded(const std::vector<int32_t>& ids);

  const Tokenizer& tokenizer;
  std::vector<bool> hidden; // by id
};

} // namespace reciperun::data

#endif // RECIPERUN_DATA_TEXTENCODER_H
