// Cuts a text into the words that the BPE merges run within, as the
// `pre_tokenizer` of a tokenizer.json says: any number of Split and Digits
// steps, then ByteLevel.

#ifndef RECIPERUN_DATA_PRETOKENIZER_H
#define RECIPERUN_DATA_PRETOKENIZER_H

#include "runtime/data/Pattern.h"
#include "runtime/plan/Status.h"

#include <deque>
#include <string>
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

/// Words of a text, as views of it or of `owned`.
struct Words {
  std::vector<std::string_view> views;
  std::deque<std::string> owned;
};

class PreTokenizer {
public:
  /// `addPrefixSpace`: a space is put before a text that does not begin with
  /// one, behind the first `prefixAfter` steps.
  PreTokenizer(std::vector<SplitStep> steps, bool addPrefixSpace,
               size_t prefixAfter);

  /// Cuts well-formed UTF-8; the views live as long as `text` and `words`.
  Status run(std::string_view text, Words& words) const;

private:
  Status runStep(const SplitStep& step, Words& words) const;
  void prefixSpaces(Words& words) const;

  std::vector<SplitStep> steps;
  bool addPrefixSpace = false;
  size_t prefixAfter = 0;
};

} // namespace reciperun::data

#endif // RECIPERUN_DATA_PRETOKENIZER_H
