// Makes drafts of the next tokens of sequences (speculative decoding). A step
// of the model checks the drafts; see Scheduler.h.

#ifndef RECIPERUN_SERVE_ENGINE_DRAFTSOURCE_H
#define RECIPERUN_SERVE_ENGINE_DRAFTSOURCE_H

#include "runtime/base/Status.h"
#include "runtime/serve/engine/Sequence.h"

#include <cstdint>
#include <span>
#include <vector>

namespace reciperun::serve {

/// A decoding sequence and the draft of its next tokens.
struct DraftWish {
  Sequence* sequence = nullptr;
  int64_t most = 0; // tokens that fit into the step and the cache
  std::vector<int32_t> tokens = {}; // the draft, at most `most`
};

class DraftSource {
public:
  virtual ~DraftSource() = default;

  /// Makes the drafts of all wishes. A draft may be short or empty.
  virtual void propose(std::span<DraftWish> wishes) = 0;
  /// Whether propose() writes to the sequence's pages for the `most` draft
  /// tokens, which must exist then.
  virtual bool writesPages() const { return false; }
  /// Called when the sequence gives up its slot and pages.
  virtual void forget(RequestId) {}
  /// The failure of the device after which no more drafts are made; ok before.
  virtual Status status() const { return Status::ok(); }
};

/// Makes drafts from the n-grams of each sequence (NgramDraft.h).
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
