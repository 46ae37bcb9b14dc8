// The text of an answer, from its tokens.

#ifndef RECIPERUN_SERVE_SAMPLING_ANSWERTEXT_H
#define RECIPERUN_SERVE_SAMPLING_ANSWERTEXT_H

#include "runtime/data/Tokenizer.h"
#include "runtime/serve/sampling/SamplingOptions.h"
#include "runtime/serve/sampling/StopStrings.h"

#include <cstdint>
#include <optional>
#include <string>

namespace reciperun::serve {

/// Decodes tokens one at a time. Each piece is well-formed UTF-8: a character
/// whose bytes span several tokens comes with the last of them. Text that may
/// begin a stop string is held back. Stop strings are left out unless
/// `keepsStopString` is set. Special tokens have no text if `skipsSpecial` is
/// set.
class AnswerText {
public:
  /// Uses the stop strings of `options`. They cannot end within the first
  /// `minTokens` tokens. `tokenizer` must outlive this object.
  AnswerText(const data::Tokenizer& tokenizer, const SamplingOptions& options);

  /// The text that this token adds, possibly empty; empty after a stop string.
  std::string next(int32_t id);
  /// The rest of the text, when no token follows: text held back, and U+FFFD
  /// for an incomplete character.
  std::string finish();

  /// The index of the stop string that ended the answer; nullopt when none has.
  std::optional<size_t> stopString() const { return stops.match(); }

private:
  data::StreamDecoder decoder;
  StopStrings stops;
  int64_t minTokens;
  int64_t tokens = 0;
};

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_SAMPLING_ANSWERTEXT_H
