// Guesses with a smaller model of the same vocabulary (Leviathan et al., "Fast
// Inference from Transformers via Speculative Decoding", ICML 2023). Its
// likeliest tokens are the guess. The answers do not depend on it: a step of
// the large model chooses each token, and compares.
//
// The draft model's cache has as many pages as that of the large model, and a
// sequence has the same pages in both. What the scheduler decides about pages
// (preemption, shared prefixes, eviction) therefore holds for both caches.
//
// 1. Before the guess, compute the tokens of a sequence that are new: its
//    prompt, or what the last steps chose. Pages of other sequences that begin
//    with the same tokens are reused. Guesses that were chosen are in the cache
//    already; later tokens overwrite the others.
// 2. Then compute one token of each sequence in a step, the likeliest one
//    behind the last, until all guesses are long enough. A sequence that is
//    behind with its prompt catches up in the same steps.

#ifndef RECIPERUN_SERVE_ENGINE_DRAFTMODEL_H
#define RECIPERUN_SERVE_ENGINE_DRAFTMODEL_H

#include "runtime/base/Hash.h"
#include "runtime/plan/Plan.h"
#include "runtime/serve/engine/DraftSource.h"
#include "runtime/serve/engine/StepModel.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

namespace reciperun::serve {

class DraftModel : public DraftSource {
public:
  /// `limits` are those of the draft model's plan. Its slots, pages and tokens
  /// of a sequence are at least those of the scheduler. It keeps no states of
  /// state-space layers, which could not take a guess back.
  DraftModel(std::unique_ptr<StepModel> model, const plan::Serving& limits);

  void propose(std::span<DraftWish> wishes) override;
  bool writesPages() const override { return true; }
  void forget(RequestId request) override { sequences.erase(request); }
  Status status() const override { return failure; }

  /// The tokens that the draft model has computed since the start.
  int64_t computedTokens() const { return counted; }

private:
  /// What the cache has of a sequence that runs.
  struct Held {
    int64_t computed = 0;       // its first tokens
    std::vector<int32_t> ahead; // guesses behind those
    int64_t full = 0;           // its first pages, which others may reuse
    std::vector<Hash> keys;     // of full pages, as far as they were needed
  };
  /// A guess that is being made.
  struct Turn {
    DraftWish* wish = nullptr;
    Held* held = nullptr;
    bool hasEnded = false; // its logits are not finite

    bool isDone() const {
      return hasEnded || int64_t(wish->tokens.size()) >= wish->most;
    }
    /// The next tokens to compute.
    std::span<const int32_t> pending() const;
    int64_t position() const { // of the first of these
      return held->computed + int64_t(held->ahead.size());
    }
  };

  Turn begin(DraftWish& wish);
  void acceptChosen(Held& held, const Sequence& sequence) const;
  void reusePages(Held& held, const Sequence& sequence) const;
  const Hash& keyOf(Held& held, const Sequence& sequence, int64_t page) const;
  Status runStep(std::span<Turn> turns);
  StepPlan planOf(std::span<const Turn> turns) const;
  void invalidatePages(const StepPlan& step);
  void take(Turn& turn, const StepPart& part, int64_t& row);
  void notePages(Held& held, const Sequence& sequence);

  std::unique_ptr<StepModel> model;
  plan::Serving limits;
  std::unordered_map<RequestId, Held> sequences;
  /// Of each page that is full: the key of its tokens (PagePool.h).
  std::vector<std::optional<Hash>> contents;
  StepResults results; // of the last step
  Status failure;
  int64_t counted = 0;
};

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_ENGINE_DRAFTMODEL_H
