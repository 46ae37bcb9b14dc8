// Guesses the next tokens of sequences (speculative decoding). A step of the
// model checks the guesses; see Scheduler.h.

#ifndef RECIPERUN_SERVE_ENGINE_DRAFTSOURCE_H
#define RECIPERUN_SERVE_ENGINE_DRAFTSOURCE_H

#include "runtime/base/Status.h"
#include "runtime/serve/engine/Sequence.h"

#include <cstdint>
#include <span>
#include <vector>

namespace reciperun::serve {

/// A sequence that decodes, and the tokens that are guessed for it.
struct DraftWish {
  Sequence* sequence = nullptr;
  int64_t most = 0; // tokens; the step and the cache have room for no more
  std::vector<int32_t> tokens = {}; // the guess, at most `most`
};

class DraftSource {
public:
  virtual ~DraftSource() = default;

  /// Guesses the tokens of all wishes. A guess may be short or empty.
  virtual void propose(std::span<DraftWish> wishes) = 0;
  /// Whether a guess of `most` tokens needs the sequence's pages for these
  /// tokens while it is made.
  virtual bool writesPages() const { return false; }
  /// The sequence gives up its slot and pages.
  virtual void forget(RequestId) {}
  /// Why there can be no more guesses, when the device has failed.
  virtual Status status() const { return Status::ok(); }
};

/// Guesses by the n-grams of each sequence (NgramDraft.h).
class NgramSource : public DraftSource {
public:
  void propose(std::span<DraftWish> wishes) override {
    for (DraftWish& wish : wishes)
      wish.tokens =
          wish.sequence->ngrams.propose(wish.sequence->tokens, wish.most);
  }
};

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_ENGINE_DRAFTSOURCE_H
