// Guesses the next tokens of a sequence by what followed its last tokens before
// (prompt lookup decoding). A step checks the guess; see Scheduler.h.

#ifndef RECIPERUN_SERVE_ENGINE_NGRAMDRAFT_H
#define RECIPERUN_SERVE_ENGINE_NGRAMDRAFT_H

#include <array>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace reciperun::serve {

/// The n-grams of one sequence.
class NgramDraft {
public:
  /// Returns the `most` tokens that followed the latest earlier occurrence of
  /// the last three tokens, or of the last two; none where there is no such
  /// occurrence. Where fewer have followed they repeat. `tokens` extends those
  /// of the call before.
  std::vector<int32_t> propose(std::span<const int32_t> tokens, int64_t most);

private:
  static constexpr std::array<size_t, 2> lengths = {3, 2};

  void index(std::span<const int32_t> tokens);

  /// For each length, by the hash of an n-gram: the index of the token behind
  /// its latest occurrence. Unequal n-grams may have one hash.
  std::array<std::unordered_map<uint64_t, size_t>, lengths.size()> behind;
  size_t indexed = 0; // the tokens that are behind an n-gram of `behind`
};

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_ENGINE_NGRAMDRAFT_H
