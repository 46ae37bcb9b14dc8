// Cuts a text into the words that the BPE merges run within, as the
// `pre_tokenizer` of a tokenizer.json says: any number of Split and Digits
// steps, then ByteLevel.

#ifndef RECIPERUN_DATA_PRETOKENIZER_H
#define RECIPERUN_DATA_PRETOKENIZER_H

#include "runtime/base/Status.h"
#include "runtime/data/Pattern.h"

#include <functional>
#include <string_view>
#include <vector>

namespace reciperun::data {

/// What becomes of a match (`SplitDelimiterBehavior` of `tokenizers`).
enum class SplitBehavior {
  isolated,           // a word of its own
  removed,            // left out
  contiguous,         // one word with the matches beside it
  mergedWithPrevious, // the end of the word before
  mergedWithNext      // the beginning of the word behind
};

/// Cuts the text at a pattern's matches; with `invert`, what lies between the
/// matches is taken for the matches.
struct SplitStep {
  Pattern pattern;
  SplitBehavior behavior = SplitBehavior::isolated;
  bool invert = false;
};

/// Takes the words of a text one by one; a view lives as long as the call.
using WordSink = std::function<Status(std::string_view)>;

class PreTokenizer {
public:
  /// `addPrefixSpace`: a space is put before a text that does not begin with
  /// one, behind the first `prefixAfter` steps.
  PreTokenizer(std::vector<SplitStep> steps, bool addPrefixSpace,
               size_t prefixAfter);

  /// Cuts well-formed UTF-8. Fails where a pattern or the sink does.
  Status run(std::string_view text, const WordSink& sink) const;

private:
  Status cut(size_t step, std::string_view word, const WordSink& sink) const;

  std::vector<SplitStep> steps;
  bool addPrefixSpace = false;
  size_t prefixAfter = 0;
};

} // namespace reciperun::data

#endif // RECIPERUN_DATA_PRETOKENIZER_H
