// Decides what each step of a server computes: iteration-level batching over a
// paged cache (Orca, OSDI 2022; vLLM, SOSP 2023).
//
// 1. Give each decoding sequence the page for its next token. If there are no
//    pages left, preempt the last sequence in the order of precedence: it gives
//    up its slot and pages, and its tokens are computed again later, or copied
//    back from the host (PageCache.h).
// 2. Fill the step: the tokens of decoding sequences, then parts of prompts, up
//    to the token budget. Waiting sequences start while slots, pages and tokens
//    are left. Without chunked prefill, a prompt is computed in one step and
//    precedes the decoding sequences.
// 3. Choose the narrowest bucket that fits.
//
// With `draftTokens` (speculative decoding), a decoding sequence also computes
// a draft of its next tokens (DraftSource.h) if the token budget and the cache
// leave room. The caller samples the token after each of the sequence's tokens
// in turn, and stops at the first that differs from the draft. The answer is
// therefore the same as without drafts.
//
// A prompt whose tokens are scored (`prompt_logprobs`) has a row of logits for
// each token. A step computes as many of its tokens as there are rows left, and
// none of them comes from the prefix cache.
//
// With pipeline parallelism, one step per stage is underway. A sequence is in
// at most one of them, because its next token depends on the last one. Each
// step takes an equal share of the sequences, so that the stages are balanced.
//
// Sequences of different adapters share steps. A sequence starts when its
// adapter is in memory or can replace one that no running sequence uses
// (AdapterPool.h). While the first waiting sequence waits for its adapter,
// sequences of other adapters may overtake it, up to a limit, so that adapters
// in memory do not serve only few sequences meanwhile.
//
// Precedence is by priority, then by arrival; WaitingQueue.h bounds the time
// that low priorities wait. The scheduler uses neither a device nor a clock:
// the same calls give the same steps.

#ifndef RECIPERUN_SERVE_ENGINE_SCHEDULER_H
#define RECIPERUN_SERVE_ENGINE_SCHEDULER_H

#include "runtime/base/Status.h"
#include "runtime/plan/Plan.h"
#include "runtime/serve/engine/AdapterPool.h"
#include "runtime/serve/engine/DraftSource.h"
#include "runtime/serve/engine/PageCache.h"
#include "runtime/serve/engine/Sequence.h"
#include "runtime/serve/engine/StepPlan.h"
#include "runtime/serve/engine/WaitingQueue.h"

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace reciperun::serve {

/// Counts since the start.
struct SchedulerStatistics {
  int64_t steps = 0;
  int64_t promptTokens = 0; // prompt tokens computed, not recomputed
  int64_t decodedTokens = 0;
  int64_t draftedTokens = 0;    // tokens of drafts computed
  int64_t acceptedTokens = 0;   // tokens of drafts that were right
  int64_t recomputedTokens = 0; // of preempted sequences
  int64_t reusedTokens = 0;     // found in the cache instead of computed
  int64_t restoredTokens = 0;   // of these, copied from the host
  // Prompt tokens. A sequence that starts again after a preemption does not
  // count.
  int64_t lookedUpTokens = 0; // looked up in the prefix cache
  int64_t foundTokens = 0;    // found there
  int64_t paddedTokens = 0;   // of buckets that were not full
  int64_t preemptions = 0;
  int64_t adapterLoads = 0;
};

/// The composition of a step.
struct StepCounts {
  int64_t prefilling = 0, decoding = 0; // sequences
  int64_t prefillTokens = 0, decodedTokens = 0;
};

/// The outcome of a step for a part that wanted rows of logits.
struct StepOutcome {
  RequestId request = -1;
  /// The next tokens of the sequence: one or none; with a draft, the right
  /// tokens of the draft and one more.
  std::vector<int32_t> tokens = {};
  bool ends = false;      // the sequence ends, after `tokens`
  bool isInvalid = false; // what it computed must not be reused
};

class Scheduler {
public:
  /// How many later arrivals of a higher priority may start before a waiting
  /// sequence is promoted (WaitingQueue.h).
  static constexpr int64_t defaultPatience = 32;

  /// `depth` is the number of steps that may be underway at once. `drafts`
  /// makes drafts, and must outlive this object; if it is null, n-grams do.
  explicit Scheduler(const plan::Serving& limits, int depth = 1,
                     int64_t patience = defaultPatience,
                     DraftSource* drafts = nullptr);

  /// Adds a request for at most `maxTokens` tokens after `prompt`.
  /// `wantsPromptRows` also asks for the logits after each token of the prompt.
  /// `adapter` is an id of adapters() or noAdapter. The request shares cached
  /// prefixes only with requests of the same adapter and the same salt. Fails,
  /// with the lengths and the remedy, when the prompt has no token or can never
  /// be computed.
  Expected<RequestId> submit(std::vector<int32_t> prompt, int64_t maxTokens,
                             int priority = 0, bool wantsPromptRows = false,
                             AdapterId adapter = noAdapter,
                             std::string_view cacheSalt = {});

  /// Ends a request. A sequence that is in a step underway ends with that step.
  /// Returns false when there is no such request.
  bool cancel(RequestId request);

  /// Composes the next step, which is then underway; nullopt when there is
  /// nothing to compute. The spans of the step are valid until it finishes.
  std::optional<StepPlan> next();

  /// Ends the first step underway. `outcomes` has an element for each part that
  /// wanted rows, in their order. A sequence of `mostTokens` tokens must end.
  void finish(std::span<const StepOutcome> outcomes);

  bool isIdle() const { return sequences.empty(); }
  /// The sequences that have a slot, and those that wait for one.
  size_t running() const { return active.size(); }
  size_t waiting() const { return queue.size(); }
  /// Null when the request has ended.
  const Sequence* find(RequestId request) const;
  const PagePool& pages() const { return cache.pages(); }
  const PagePool& pagesOfHost() const { return cache.pagesOfHost(); }
  AdapterPool& adapters() { return adapterPool; }
  const SchedulerStatistics& statistics() const { return counts; }
  /// The counts of the last step that was composed.
  const StepCounts& lastStep() const { return last; }
  /// The number of waiting sequences whose adapter must first get a place in
  /// memory.
  int64_t waitingForAdapter() const;

private:
  /// The tokens of a step by sequence.
  struct Share {
    Sequence* sequence;
    int64_t tokens;
    bool decodes;
  };
  struct Composition {
    int64_t left;          // of the token budget
    int64_t sequencesLeft; // for sequences
    std::vector<Share> shares = {};

    bool isFull() const { return left == 0 || sequencesLeft == 0; }
    void add(const Share& share) {
      shares.push_back(share);
      left -= share.tokens;
      --sequencesLeft;
    }
  };

  Status checkLength(int64_t tokens) const;
  int64_t pagesFor(int64_t tokens) const;
  int64_t pagesToReserve(const Sequence& sequence) const;
  const Hash& keyOf(Sequence& sequence, int64_t page);

  int64_t shareOfSequences() const;
  void growDecoding();
  bool takePage(Sequence& sequence);
  Sequence& lastNotUnderway();
  void preempt(Sequence& sequence);
  void addDecoding(Composition& step);
  std::vector<DraftWish> guessesFor(std::span<Sequence* const> decoding,
                                    int64_t most);
  int64_t takePagesFor(Sequence& sequence, int64_t tokens);
  int64_t keepGuess(const DraftWish& wish, int64_t most);
  DraftSource& draftSource() { return drafts ? *drafts : ngrams; }
  void addPrompts(Composition& step);
  void startWaiting(Composition& step);
  Sequence* nextToStart();
  int64_t promptTokens(const Composition& step, const Sequence& sequence) const;
  int64_t rowsFor(const Composition& step, const Sequence& sequence) const;
  bool start(const Composition& step, Sequence& sequence);
  bool takePages(const Composition& step, Sequence& sequence);
  bool looksUp(const Sequence& sequence) const {
    return reusesPrefixes && !sequence.wantsPromptRows;
  }
  /// A page of a sequence that is on the host: the index in the sequence, and
  /// the page of the host.
  struct OnHost {
    size_t index;
    int32_t hostPage;
  };
  std::vector<OnHost> sharePages(Sequence& sequence);
  void restorePages(Sequence& sequence, std::span<const OnHost> pages);
  void releasePages(Sequence& sequence);
  StepPlan planOf(const Composition& composed);
  void countTokens(const Share& share);

  void extend(Sequence& sequence, const StepPart& part,
              const StepOutcome& outcome);
  void advance(Sequence& sequence, int64_t tokens);
  void publishPages(Sequence& sequence);
  void leaveSlot(Sequence& sequence);
  void end(Sequence& sequence);

  plan::Serving limits;
  int depth;
  NgramSource ngrams;
  DraftSource* drafts;
  bool reserves = false;       // pages for whole answers
  bool reusesPrefixes = false; // finds pages by their keys
  PageCache cache;
  AdapterPool adapterPool;
  WaitingQueue queue;
  std::unordered_map<RequestId, std::unique_ptr<Sequence>> sequences;
  std::vector<Sequence*> active; // in the order of precedence
  std::set<int> freeSlots;
  int64_t reserved = 0; // pages that running sequences have yet to take
  RequestId nextId = 0;
  std::deque<StepPlan> underway;
  SchedulerStatistics counts;
  StepCounts last;
};

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_ENGINE_SCHEDULER_H
