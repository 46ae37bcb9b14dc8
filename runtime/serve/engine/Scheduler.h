// Decides what each step of a server computes: iteration-level batching over a
// paged cache (Orca, OSDI 2022; vLLM, SOSP 2023).
//
// 1. Give each decoding sequence the page for its next token. Where pages run
//    out, preempt the last sequence in the order of precedence: it gives up its
//    slot and pages, and is computed again later.
// 2. Fill the step: the tokens of decoding sequences, then parts of prompts, up
//    to the token budget. Waiting sequences start while slots, pages and tokens
//    are left. Without chunked prefill, a prompt is computed in one step and
//    precedes the decoding sequences.
// 3. Choose the narrowest bucket that fits.
//
// With `draftTokens`, a decoding sequence also computes a guess of its next
// tokens (DraftSource.h) where the token budget and the cache leave room. The
// caller chooses the token behind each of them in turn, and stops behind the
// first that is not the guessed one. The tokens are therefore those that it
// would choose one step after the other.
//
// A prompt that is scored (`prompt_logprobs`) has a row of logits for each
// token. A step computes as many of its tokens as there are rows left, and none
// of them comes from the prefix cache.
//
// A pipeline has a step underway for each of its stages. A sequence is in one
// of them at a time, because its next token follows from the last one. Each
// takes its share of the sequences, so that the stages have equal steps.
//
// Sequences of different adapters share steps. A sequence starts when its
// adapter has a place in memory, or can have that of one that no running
// sequence uses (AdapterPool.h). While the first one waits for a place, those
// of other adapters overtake it, up to a bound, so that places are not left to
// few sequences.
//
// Precedence is by priority, then by arrival; WaitingQueue.h bounds the time
// that low priorities wait. The scheduler knows neither a device nor a clock:
// the same calls give the same steps.

#ifndef RECIPERUN_SERVE_ENGINE_SCHEDULER_H
#define RECIPERUN_SERVE_ENGINE_SCHEDULER_H

#include "runtime/base/Status.h"
#include "runtime/plan/Plan.h"
#include "runtime/serve/engine/AdapterPool.h"
#include "runtime/serve/engine/DraftSource.h"
#include "runtime/serve/engine/PagePool.h"
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
  int64_t promptTokens = 0; // computed, without those that follow
  int64_t decodedTokens = 0;
  int64_t draftedTokens = 0;    // computed behind those
  int64_t acceptedTokens = 0;   // of drafts
  int64_t recomputedTokens = 0; // of preempted sequences
  int64_t reusedTokens = 0;     // found in the cache instead of computed
  // Of prompts, without those of sequences that start again after a preemption:
  int64_t lookedUpTokens = 0; // in the prefix cache
  int64_t foundTokens = 0;    // of them, there
  int64_t paddedTokens = 0;   // of buckets that were not full
  int64_t preemptions = 0;
  int64_t adapterLoads = 0;
};

/// The composition of a step.
struct StepCounts {
  int64_t prefilling = 0, decoding = 0; // sequences
  int64_t prefillTokens = 0, decodedTokens = 0;
};

/// The outcome of the step for a part that wanted rows.
struct StepOutcome {
  RequestId request = -1;
  /// The next ones: one or none, and with a draft those that it guessed and one
  /// more.
  std::vector<int32_t> tokens = {};
  bool ends = false;      // the sequence ends, after `tokens`
  bool isInvalid = false; // what it computed must not be reused
};

class Scheduler {
public:
  /// The number of later arrivals that may be preferred to a waiting sequence.
  static constexpr int64_t defaultPatience = 32;

  /// `depth` steps may be underway at once. `drafts` guesses tokens, and must
  /// outlive this object; null: n-grams do.
  explicit Scheduler(const plan::Serving& limits, int depth = 1,
                     int64_t patience = defaultPatience,
                     DraftSource* drafts = nullptr);

  /// Adds a request for at most `maxTokens` tokens after `prompt`, and for the
  /// logits after each token of the prompt if `wantsPromptRows`. Fails, with
  /// the lengths and the remedy, when the prompt has no token or can never be
  /// computed. `adapter` is one of adapters(), or none. It shares cached
  /// prefixes with requests of the same adapter and the same salt.
  Expected<RequestId> submit(std::vector<int32_t> prompt, int64_t maxTokens,
                             int priority = 0, bool wantsPromptRows = false,
                             AdapterId adapter = noAdapter,
                             std::string_view cacheSalt = {});

  /// Ends a request, with its step where it is in one that is underway. Returns
  /// false when there is no such request.
  bool cancel(RequestId request);

  /// The next step, which is then underway; nullopt when there is nothing to
  /// compute. Its spans are valid until it finishes.
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
  const PagePool& pages() const { return pool; }
  AdapterPool& adapters() { return adapterPool; }
  const SchedulerStatistics& statistics() const { return counts; }
  /// Of the last step that was composed.
  const StepCounts& lastStep() const { return last; }
  /// The waiting sequences that wait for a place of their adapter.
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
  void sharePages(Sequence& sequence);
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
  PagePool pool;
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
