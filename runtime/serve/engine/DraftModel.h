// Makes drafts with a smaller model of the same vocabulary (Leviathan et al.,
// "Fast Inference from Transformers via Speculative Decoding", ICML 2023). A
// draft consists of the likeliest tokens of the draft model. It does not change
// the answers: a step of the large model samples each token and compares it
// with the draft.
//
// The draft model's cache has as many pages as the large model's cache, and a
// sequence has the same pages in both. What the scheduler decides about pages
// (preemption, shared prefixes, eviction) therefore holds for both caches.
//
// 1. Before a draft, compute the new tokens of a sequence: its prompt, or the
//    tokens that the last steps sampled. Pages of other sequences that begin
//    with the same tokens are reused. Draft tokens that proved right are in the
//    cache already; later tokens overwrite the wrong ones.
// 2. Then each step computes one token of each sequence and appends the
//    likeliest next token, until all drafts are long enough. A sequence whose
//    prompt is not computed yet continues with it in the same steps.

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
  /// `limits` are those of the draft model's plan. They must have at least the
  /// slots, pages and tokens per sequence of the scheduler. The model must not
  /// have state-space layers, whose states cannot be rolled back.
  DraftModel(std::unique_ptr<StepModel> model, const plan::Serving& limits);

  void propose(std::span<DraftWish> wishes) override;
  bool writesPages() const override { return true; }
  void forget(RequestId request) override { sequences.erase(request); }
  Status status() const override { return failure; }

  /// The number of tokens that the draft model has computed since the start.
  int64_t computedTokens() const { return counted; }

private:
  /// What the cache holds of a running sequence.
  struct Held {
    int64_t computed = 0;       // number of its first tokens in the cache
    std::vector<int32_t> ahead; // draft tokens in the cache, after those
    int64_t full = 0;       // number of its first pages that others may reuse
    std::vector<Hash> keys; // of full pages, computed when needed
  };
  /// A draft in progress.
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
  /// The key (PagePool.h) of each page that is full.
  std::vector<std::optional<Hash>> contents;
  StepResults results; // of the last step
  Status failure;
  int64_t counted = 0;
};

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_ENGINE_DRAFTMODEL_H
