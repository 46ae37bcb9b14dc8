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

/// A number that is unique among the requests of an engine, ascending in the
/// order of their arrival.
using RequestId = int64_t;

struct Sequence {
  RequestId id = -1;
  int priority = 0; // higher is sooner
  AdapterId adapter = noAdapter;
  /// Sequences share cached pages where these are equal.
  Hash cacheRoot;
  /// Whether others were preferred to it for so long that it now precedes all
  /// priorities.
  bool isPromoted = false;
  int64_t preemptions = 0;
  int64_t foundTokens = 0; // of the prompt, in the cache at the first start
  /// The sequences that started while this one, the first in the queue, waited
  /// for a place of its adapter.
  int64_t overtakenBy = 0;
  std::vector<int32_t> tokens; // the prompt, then the answer
  int64_t promptTokens = 0;
  int64_t mostTokens = 0; // of prompt and answer
  /// Whether the logits after each token of the prompt are wanted, until the
  /// whole prompt has been computed once.
  bool wantsPromptRows = false;
  int64_t computed = 0; // the first tokens, which the cache or state holds
  int slot = -1;        // -1: it does not run
  std::vector<int32_t> pages;
  int64_t published = 0;   // the first pages, which can be found by their keys
  std::vector<Hash> keys;  // of full pages, as far as they were needed
  bool isUnderway = false; // in a step that has not finished
  bool hasEnded = false;   // leaves with that step
  NgramDraft ngrams;
  /// Where its step underway checks a draft: its last token, then the draft.
  std::vector<int32_t> drafted;

  int64_t length() const { return int64_t(tokens.size()); }
  /// The tokens that are still to be computed.
  int64_t pending() const { return length() - computed; }
  /// Whether it computes one token after the other. Otherwise it computes its
  /// prompt, or again what it computed before it was preempted.
  bool decodes() const { return pending() == 1 && computed >= promptTokens; }

  /// The order in which sequences get what is scarce.
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
