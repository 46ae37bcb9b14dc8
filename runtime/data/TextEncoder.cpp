// See TextEncoder.h.

#include "runtime/data/TextEncoder.h"

namespace reciperun::data {

TextEncoder::TextEncoder(const plan::Data& data, const Tokenizer& tokenizer,
                         std::span<const int32_t> more)
    : tokenizer(tokenizer), hidden(size_t(tokenizer.size())) {
  if (data.specialTokens)
    return;
  for (int32_t id = 0; id < tokenizer.size(); ++id)
    hidden[size_t(id)] = tokenizer.isSpecial(id);
  for (const std::string& words : {data.chat.before, data.chat.after})
    if (const auto ids = tokenizer.encode(words))
      hideAdded(*ids);
  const int32_t ends[] = {int32_t(data.bosToken), int32_t(data.eosToken)};
  hideAdded(ends);
  hideAdded(more);
}

/// Hides added tokens. Tokens of the vocabulary that are not added are ordinary
/// words and stay visible; so do added tokens of white space.
void TextEncoder::hideAdded(std::span<const int32_t> ids) {
  for (int32_t id : ids)
    if (tokenizer.isAdded(id) &&
        tokenizer.bytesOf(id).find_first_not_of(" \t\r\n") != std::string::npos)
      hidden[size_t(id)] = true;
}

Expected<std::vector<int32_t>>
TextEncoder::recipeText(std::string_view text) const {
  return tokenizer.encode(text);
}

Expected<std::vector<int32_t>> TextEncoder::userText(std::string_view text,
                                                     bool continues) const {
  std::vector<int32_t> ids;
  const auto append = [&](std::span<const int32_t> some) {
    ids.insert(ids.end(), some.begin(), some.end());
    return Status::ok();
  };
  RECIPERUN_TRY(userText(text, append, continues));
  return ids;
}

Status TextEncoder::userText(std::string_view text,
                             const Tokenizer::IdSink& sink,
                             bool continues) const {
  return tokenizer.encode(text, hidden, sink, continues);
}

std::string tooLargeId(const plan::Data& data, const Tokenizer& tokenizer,
                       int32_t id) {
  return "the token " + std::to_string(id) + " (`" + tokenizer.bytesOf(id) +
         "`) of the " + std::to_string(tokenizer.size()) +
         " that the tokenizer" +
         (data.tokenizer.empty() ? "" : " `" + data.tokenizer + "`") +
         " has, but the model's `vocab` is " + std::to_string(data.vocab) +
         "; use the tokenizer that the recipe was compiled with, or compile it "
         "again with a larger `vocab`";
}

} // namespace reciperun::data
