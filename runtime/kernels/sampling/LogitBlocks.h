// Finds the largest of many logits without sorting all of them.
//
// scan() computes the maximum of each block of 64 logits. The n-th largest of
// these maxima is at most the n-th largest logit, because n blocks have a logit
// of at least that size. To find the n largest logits, it therefore suffices to
// pass over the maxima and to read the blocks whose maximum is at least that
// size.

#ifndef RECIPERUN_KERNELS_SAMPLING_LOGITBLOCKS_H
#define RECIPERUN_KERNELS_SAMPLING_LOGITBLOCKS_H

#include "runtime/base/Status.h"

#include <cstdint>
#include <span>
#include <vector>

namespace reciperun::kernels {

/// A token that may be chosen.
struct Candidate {
  float logit;
  int32_t id;
};

/// The order of candidates: descending logits, ascending ids of equal logits.
inline bool isBefore(const Candidate& a, const Candidate& b) {
  return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
}

class LogitBlocks {
public:
  static constexpr size_t blockSize = 64;

  /// Computes the blocks' maxima. Fails when a logit is NaN or +infinity.
  /// -infinity is a token that cannot be chosen. The other functions need the
  /// same logits, unchanged.
  Status scan(std::span<const float> logits);

  /// The largest logit; -infinity when no token can be chosen.
  float highest() const { return largest; }
  /// The lowest id with the largest logit.
  int32_t likeliest(std::span<const float> logits) const;
  /// The `count` first candidates, sorted; fewer when fewer can be chosen.
  void takeTop(std::span<const float> logits, size_t count,
               std::vector<Candidate>& out);
  /// All candidates with a logit of at least `least`, in the order of their
  /// ids.
  void takeFrom(std::span<const float> logits, float least,
                std::vector<Candidate>& out) const;

private:
  std::vector<float> maxima; // of blocks
  std::vector<float> order;  // working copy of `maxima`
  float largest = 0;
};

} // namespace reciperun::kernels

#endif // RECIPERUN_KERNELS_SAMPLING_LOGITBLOCKS_H
