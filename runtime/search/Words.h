// The words of a name or of a sentence, in a form in which words of one meaning
// are equal.

#ifndef RECIPERUN_SEARCH_WORDS_H
#define RECIPERUN_SEARCH_WORDS_H

#include <string>
#include <string_view>
#include <vector>

namespace reciperun::search {

/// The words of `text`, in its order: `evalEveryNIters`, `eval_every_n_iters`
/// and "evaluated every n iterations" are `valid`, `every`, `step`. Splits at
/// capitals, and at all that is neither letter nor digit; removes the endings
/// of words and words that say nothing; writes abbreviations of the field out,
/// `tp` as `tensor` and `parallel`.
std::vector<std::string> wordsOf(std::string_view text);

} // namespace reciperun::search

#endif // RECIPERUN_SEARCH_WORDS_H
