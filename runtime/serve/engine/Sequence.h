// The state of one request in the scheduler.

#ifndef RECIPERUN_SERVE_ENGINE_SEQUENCE_H
#define RECIPERUN_SERVE_ENGINE_SEQUENCE_H

#include "runtime/base/Hash.h"
#include "runtime/serve/engine/AdapterPool.h"
#include "runtime/serve/engine/NgramDraft.h"

#include <cstdint>
#include <span>
#include <vector>

namespace reciperun::serve {

/// Identifies a request. Unique within an engine, ascending in the order of
/// arrival.
using RequestId = int64_t;

/// In place of a page that the sequence does not have yet.
inline constexpr int32_t noPage = -1;

struct Sequence {
  RequestId id = -1;
  int priority = 0; // higher is sooner
  AdapterId adapter = noAdapter;
  /// Sequences share cached pages only if their `cacheRoot` is equal.
  Hash cacheRoot;
  /// Whether it was passed over so often that it now precedes all priorities
  /// (WaitingQueue.h).
  bool isPromoted = false;
  int64_t preemptions = 0;
  int64_t foundTokens = 0; // of the prompt, in the cache at the first start
  /// The number of sequences that started while this one was first in the queue
  /// and waited for a place for its adapter.
  int64_t overtakenBy = 0;
  std::vector<int32_t> tokens; // the prompt, then the answer
  int64_t promptTokens = 0;
  int64_t mostTokens = 0; // of prompt and answer
  /// Whether the logits after each prompt token are wanted. Reset once the
  /// whole prompt has been computed.
  bool wantsPromptRows = false;
  int64_t computed = 0; // number of its first tokens in cache or state
  int slot = -1;        // -1: it does not run
  std::vector<int32_t> pages;
  int64_t published = 0;   // number of its first pages with a findable key
  std::vector<Hash> keys;  // of full pages, computed when needed
  bool isUnderway = false; // in a step that has not finished
  bool hasEnded = false;   // leaves with that step
  NgramDraft ngrams;
  /// If the step underway checks a draft: the last token, then the draft.
  std::vector<int32_t> drafted;

  int64_t length() const { return int64_t(tokens.size()); }
  /// The number of tokens that are not computed yet.
  int64_t pending() const { return length() - computed; }
  /// Whether it computes one token at a time. Otherwise it computes its prompt,
  /// or recomputes its tokens after a preemption.
  bool decodes() const { return pending() == 1 && computed >= promptTokens; }

  /// The order in which sequences get slots, pages and tokens of a step.
  bool precedes(const Sequence& other) const {
    if (isPromoted != other.isPromoted)
      return isPromoted;
    if (!isPromoted && priority != other.priority)
      return priority > other.priority;
    return id < other.id;
  }
};

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_ENGINE_SEQUENCE_H
