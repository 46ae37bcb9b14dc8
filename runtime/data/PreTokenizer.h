// Splits a text into the words within which BPE merges, as specified by the
// `pre_tokenizer` of a tokenizer.json: any number of Split and Digits steps,
// then ByteLevel; or Metaspace, which is SentencePiece's.

#ifndef RECIPERUN_DATA_PRETOKENIZER_H
#define RECIPERUN_DATA_PRETOKENIZER_H

#include "runtime/base/Status.h"
#include "runtime/data/Pattern.h"

#include <functional>
#include <optional>
#include <string_view>
#include <vector>

namespace reciperun::data {

/// The treatment of a match (`SplitDelimiterBehavior` of `tokenizers`).
enum class SplitBehavior {
  isolated,           // a word of its own
  removed,            // dropped
  contiguous,         // one word with adjacent matches
  mergedWithPrevious, // appended to the previous word
  mergedWithNext      // prepended to the next word
};

/// Splits the text at a pattern's matches; `invert` exchanges the matches and
/// the text between them.
struct SplitStep {
  Pattern pattern;
  SplitBehavior behavior = SplitBehavior::isolated;
  bool invert = false;
};

/// SentencePiece's character for a space: U+2581.
inline constexpr std::string_view metaspace = "\u2581";

/// Where Metaspace adds a space to a text that does not begin with one
/// (`prepend_scheme`).
enum class PrependScheme { always, first, never };

/// Receives the words of a text one by one; the view is valid during the call.
using WordSink = std::function<Status(std::string_view)>;

class PreTokenizer {
public:
  /// `addPrefixSpace` prepends a space to a text that does not begin with one,
  /// after the first `prefixAfter` steps. With a scheme, spaces become
  /// metaspaces before the first step.
  PreTokenizer(std::vector<SplitStep> steps, bool addPrefixSpace,
               size_t prefixAfter,
               std::optional<PrependScheme> scheme = std::nullopt);

  /// Splits well-formed UTF-8; `isFirst` says that no text is before it. Fails
  /// when a pattern or the sink fails.
  Status run(std::string_view text, bool isFirst, const WordSink& sink) const;

private:
  std::string withMetaspaces(std::string_view text, bool isFirst) const;
  Status cut(size_t step, std::string_view word, const WordSink& sink) const;

  std::vector<SplitStep> steps;
  bool addPrefixSpace = false;
  size_t prefixAfter = 0;
  std::optional<PrependScheme> scheme;
};

} // namespace reciperun::data

#endif // RECIPERUN_DATA_PRETOKENIZER_H
