// Drafts the next tokens of a sequence by prompt lookup: the tokens that
// followed an earlier occurrence of its last tokens. A step checks the draft;
// see Scheduler.h.

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
  /// the last three tokens or else of the last two; none if there is no such
  /// occurrence. If fewer tokens followed, they are repeated. `tokens` must
  /// extend the tokens of the previous call.
  std::vector<int32_t> propose(std::span<const int32_t> tokens, int64_t most);

private:
  static constexpr std::array<size_t, 2> lengths = {3, 2};

  void index(std::span<const int32_t> tokens);

  /// For each length: maps the hash of an n-gram to the index of the token
  /// after its latest occurrence. Different n-grams may have the same hash.
  std::array<std::unordered_map<uint64_t, size_t>, lengths.size()> behind;
  size_t indexed = 0; // tokens whose preceding n-grams are in `behind`
};

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_ENGINE_NGRAMDRAFT_H
