// Passes tokens through the decoder and its text through the stop strings.

#include "runtime/serve/sampling/AnswerText.h"

namespace reciperun::serve {

AnswerText::AnswerText(const data::Tokenizer& tokenizer,
                       const SamplingOptions& options)
    : decoder(tokenizer, options.skipsSpecial),
      stops(options.stopStrings, options.keepsStopString),
      minTokens(options.minTokens) {}

std::string AnswerText::next(int32_t id) {
  ++tokens;
  return stops.next(decoder.next(id), /*isOpen=*/tokens > minTokens);
}

std::string AnswerText::finish() {
  if (stops.match())
    return {};
  std::string text = stops.next(decoder.finish());
  if (!stops.match())
    text += stops.finish();
  return text;
}

} // namespace reciperun::serve
