// The life of a request: submission, the end of each step, cancellation.
// SchedulerStep.cpp composes the steps.

#include "runtime/serve/engine/Scheduler.h"

#include <algorithm>
#include <cassert>
#include <string>

namespace reciperun::serve {
namespace {

/// `serve.token_budget` = 64.
std::string settingText(const std::string& name, int64_t value) {
  return "`" + name + "` = " + std::to_string(value);
}

/// The hash that precedes a sequence's first page in the chain of page keys.
Hash cacheRootOf(AdapterId adapter, std::string_view salt) {
  const Hash ofAdapter{0, uint64_t(adapter - noAdapter)};
  if (salt.empty())
    return ofAdapter;
  Hasher hasher;
  hasher.add(salt);
  const uint64_t words[] = {ofAdapter.high, ofAdapter.low};
  hasher.add(std::as_bytes(std::span(words)));
  return hasher.hash();
}

} // namespace

Scheduler::Scheduler(const plan::Serving& limits, int depth, int64_t patience,
                     DraftSource* drafts)
    : limits(limits), depth(depth), drafts(drafts),
      reserves(limits.policy == plan::ServingPolicy::guaranteedNoEvict),
      // The cache has no states, so a sequence with states cannot start in the
      // middle of its prompt.
      reusesPrefixes(limits.prefixCache && limits.page > 0 &&
                     !limits.hasStates),
      cache(limits.page > 0 ? limits.pages : 0, limits.hostPages),
      adapterPool(limits.adapters), queue(patience) {
  assert(pages().size() >= plan::pagesOfSequence(limits) &&
         "the cache holds the longest sequence");
  for (int64_t slot = 0; slot < limits.maxBatch; ++slot)
    freeSlots.insert(int(slot));
}

Status Scheduler::checkLength(int64_t tokens) const {
  const std::string has = "the prompt has " + std::to_string(tokens) +
                          " token" + (tokens == 1 ? "" : "s");
  if (tokens == 0)
    return Status::error("the prompt has no token");
  if (tokens >= limits.maxTokens)
    return Status::error(has + ", the plan takes " +
                         std::to_string(limits.maxTokens) +
                         " of a prompt and its answer together; compile with a "
                         "larger `data.sequence`");
  if (tokens > limits.maxInput)
    return Status::error(has + ", the plan takes " +
                         settingText("serve.max_input", limits.maxInput) +
                         "; compile with a larger one");
  if (!limits.chunkedPrefill && tokens > limits.tokenBudget)
    return Status::error(
        has + ", which do not fit into a step of " +
        settingText("serve.token_budget", limits.tokenBudget) +
        "; compile with a larger one or with `serve.chunked_prefill` = true");
  return Status::ok();
}

Expected<RequestId> Scheduler::submit(std::vector<int32_t> prompt,
                                      int64_t maxTokens, int priority,
                                      bool wantsPromptRows, AdapterId adapter,
                                      std::string_view cacheSalt) {
  const int64_t length = int64_t(prompt.size());
  RECIPERUN_TRY(checkLength(length));
  if (maxTokens < 1)
    return Status::error("an answer of at most " + std::to_string(maxTokens) +
                         " tokens is asked for; ask for at least 1");
  auto sequence = std::make_unique<Sequence>();
  sequence->id = nextId++;
  sequence->priority = priority;
  sequence->adapter = adapter;
  sequence->cacheRoot = cacheRootOf(adapter, cacheSalt);
  sequence->tokens = std::move(prompt);
  sequence->promptTokens = length;
  sequence->wantsPromptRows = wantsPromptRows;
  sequence->mostTokens = std::min(
      length + std::min(maxTokens, limits.maxOutput), limits.maxTokens);
  queue.add(*sequence);
  adapterPool.beginRequest(adapter);
  const RequestId id = sequence->id;
  sequences.emplace(id, std::move(sequence));
  return id;
}

const Sequence* Scheduler::find(RequestId request) const {
  auto found = sequences.find(request);
  return found == sequences.end() ? nullptr : found->second.get();
}

int64_t Scheduler::waitingForAdapter() const {
  return limits.adapters > 0 ? adapterPool.waitingForPlace() : 0;
}

bool Scheduler::cancel(RequestId request) {
  auto found = sequences.find(request);
  if (found == sequences.end())
    return false;
  Sequence& sequence = *found->second;
  if (sequence.isUnderway) {
    sequence.hasEnded = true;
    return true;
  }
  if (sequence.slot < 0)
    queue.remove(sequence);
  end(sequence);
  return true;
}

void Scheduler::finish(std::span<const StepOutcome> outcomes) {
  assert(!underway.empty() && "next() gave a step");
  const std::vector<StepPart> parts = std::move(underway.front().parts);
  underway.pop_front();
  for (const StepPart& part : parts) {
    Sequence& sequence = *sequences.at(part.request);
    sequence.isUnderway = false;
    if (part.rows > 0) {
      assert(!outcomes.empty() && outcomes.front().request == part.request &&
             "each part that wants rows has an outcome");
      extend(sequence, part, outcomes.front());
      outcomes = outcomes.subspan(1);
    } else {
      advance(sequence, int64_t(part.ids.size()));
    }
    if (sequence.hasEnded)
      end(sequence);
  }
}

/// Appends the chosen tokens to a sequence whose part wanted rows.
void Scheduler::extend(Sequence& sequence, const StepPart& part,
                       const StepOutcome& outcome) {
  const auto chosen = int64_t(outcome.tokens.size());
  sequence.tokens.insert(sequence.tokens.end(), outcome.tokens.begin(),
                         outcome.tokens.end());
  if (sequence.drafted.empty()) {
    advance(sequence, int64_t(part.ids.size()));
    if (sequence.computed >= sequence.promptTokens)
      sequence.wantsPromptRows = false;
  } else {
    // `chosen` is the number of right draft tokens plus one. The cache holds
    // the wrong ones until later tokens overwrite them.
    counts.acceptedTokens += std::max<int64_t>(0, chosen - 1);
    sequence.drafted.clear();
    advance(sequence, chosen);
  }
  if (outcome.isInvalid)
    for (int32_t page : sequence.pages)
      cache.forget(page);
  sequence.hasEnded = sequence.hasEnded || outcome.ends;
  assert((sequence.hasEnded || sequence.length() < sequence.mostTokens) &&
         "a sequence of its most tokens ends");
}

/// Counts the tokens of a sequence that the step has computed.
void Scheduler::advance(Sequence& sequence, int64_t tokens) {
  sequence.computed += tokens;
  publishPages(sequence);
}

void Scheduler::publishPages(Sequence& sequence) {
  if (!reusesPrefixes)
    return;
  for (; (sequence.published + 1) * limits.page <= sequence.computed;
       ++sequence.published)
    cache.publish(sequence.pages[size_t(sequence.published)],
                  keyOf(sequence, sequence.published));
}

/// The key of a full page, which depends on all tokens up to its end, on the
/// adapter and on the salt. Also computes the missing keys of earlier pages.
const Hash& Scheduler::keyOf(Sequence& sequence, int64_t page) {
  const std::span<const int32_t> tokens = sequence.tokens;
  std::vector<Hash>& keys = sequence.keys;
  while (int64_t(keys.size()) <= page)
    keys.push_back(pageKey(keys.empty() ? sequence.cacheRoot : keys.back(),
                           tokens.subspan(keys.size() * size_t(limits.page),
                                          size_t(limits.page))));
  return keys[size_t(page)];
}

int64_t Scheduler::pagesFor(int64_t tokens) const {
  return limits.page > 0 ? (tokens + limits.page - 1) / limits.page : 0;
}

/// The number of pages that a running sequence may still need.
int64_t Scheduler::pagesToReserve(const Sequence& sequence) const {
  return reserves ? std::max<int64_t>(0, pagesFor(sequence.mostTokens - 1) -
                                             int64_t(sequence.pages.size()))
                  : 0;
}

/// Gives up slot and pages. Releases the last pages first, so that the first
/// pages, which more prompts share, stay in the cache longer.
void Scheduler::leaveSlot(Sequence& sequence) {
  reserved -= pagesToReserve(sequence);
  draftSource().forget(sequence.id);
  releasePages(sequence);
  sequence.computed = 0;
  freeSlots.insert(sequence.slot);
  adapterPool.release(sequence.adapter);
  sequence.slot = -1;
  active.erase(std::find(active.begin(), active.end(), &sequence));
}

void Scheduler::releasePages(Sequence& sequence) {
  for (size_t i = sequence.pages.size(); i-- > 0;)
    if (sequence.pages[i] != noPage)
      cache.release(sequence.pages[i]);
  sequence.pages.clear();
  sequence.published = 0;
}

void Scheduler::end(Sequence& sequence) {
  if (sequence.slot >= 0)
    leaveSlot(sequence);
  adapterPool.endRequest(sequence.adapter);
  sequences.erase(sequence.id);
}

} // namespace reciperun::serve
