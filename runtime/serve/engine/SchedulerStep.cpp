// Composes the next step; Scheduler.h has the algorithm.

#include "runtime/serve/engine/Scheduler.h"

#include <algorithm>
#include <cassert>

namespace reciperun::serve {

std::optional<StepPlan> Scheduler::next() {
  assert(int(underway.size()) < depth && "an earlier step has finished");
  growDecoding();
  Composition step{limits.tokenBudget, shareOfSequences()};
  if (limits.chunkedPrefill)
    addDecoding(step);
  addPrompts(step);
  startWaiting(step);
  if (!limits.chunkedPrefill)
    addDecoding(step);
  if (step.shares.empty())
    return std::nullopt;
  underway.push_back(planOf(step));
  return underway.back();
}

/// The most sequences in a step: an equal share, for each of `depth` steps, of
/// the sequences that run or may start now.
int64_t Scheduler::shareOfSequences() const {
  const auto all =
      int64_t(active.size() + std::min(queue.size(), freeSlots.size()));
  return (all + depth - 1) / depth;
}

/// Gives each decoding sequence that is not underway the page for its next
/// token. If there are no pages left, preempts sequences from the last one on,
/// which may be the sequence itself.
void Scheduler::growDecoding() {
  for (size_t i = 0; i < active.size(); ++i) {
    Sequence& sequence = *active[i];
    if (sequence.isUnderway)
      continue;
    while (sequence.slot >= 0 && sequence.decodes() &&
           pagesFor(sequence.length()) > int64_t(sequence.pages.size()))
      if (!takePage(sequence))
        preempt(lastNotUnderway());
  }
}

/// The last running sequence that is not underway.
Sequence& Scheduler::lastNotUnderway() {
  const auto last = std::find_if(
      active.rbegin(), active.rend(),
      [](const Sequence* sequence) { return !sequence->isUnderway; });
  assert(last != active.rend() && "the caller has one");
  return **last;
}

bool Scheduler::takePage(Sequence& sequence) {
  if (pages().available() == 0)
    return false;
  reserved -= pagesToReserve(sequence);
  sequence.pages.push_back(cache.take());
  reserved += pagesToReserve(sequence);
  return true;
}

void Scheduler::preempt(Sequence& sequence) {
  assert(!reserves && "reserved pages are there");
  ++counts.preemptions;
  ++sequence.preemptions;
  leaveSlot(sequence);
  queue.add(sequence);
}

void Scheduler::addDecoding(Composition& step) {
  // Skip sequences that this step has started: a preempted sequence may decode
  // as soon as it starts again.
  const std::vector<Share> started = step.shares;
  auto hasStarted = [&](const Sequence* sequence) {
    return std::any_of(started.begin(), started.end(), [&](const Share& share) {
      return share.sequence == sequence;
    });
  };
  std::vector<Sequence*> decoding;
  for (Sequence* sequence : active)
    if (sequence->decodes() && !sequence->isUnderway && !hasStarted(sequence))
      decoding.push_back(sequence);
  // Reserve one token for each sequence before any draft gets tokens.
  const auto count =
      std::min({int64_t(decoding.size()), step.left, step.sequencesLeft});
  decoding.resize(size_t(count));
  std::vector<DraftWish> wishes = guessesFor(decoding, step.left - count);
  for (size_t i = 0; i < decoding.size(); ++i) {
    const auto others = count - int64_t(i) - 1;
    const int64_t guessed = keepGuess(wishes[i], step.left - 1 - others);
    step.add({decoding[i], 1 + guessed, /*decodes=*/true});
  }
}

/// Makes a draft of at most `most` tokens for each decoding sequence.
std::vector<DraftWish>
Scheduler::guessesFor(std::span<Sequence* const> decoding, int64_t most) {
  std::vector<DraftWish> wishes;
  for (Sequence* sequence : decoding) {
    int64_t tokens = std::min({most, limits.draftTokens,
                               sequence->mostTokens - sequence->length() - 1});
    if (tokens > 0 && draftSource().writesPages())
      tokens = takePagesFor(*sequence, tokens);
    wishes.push_back({sequence, std::max<int64_t>(0, tokens)});
  }
  if (limits.draftTokens > 0)
    draftSource().propose(wishes);
  return wishes;
}

/// Takes pages for `tokens` tokens of a draft, as far as there are any. Returns
/// the number of tokens that have pages.
int64_t Scheduler::takePagesFor(Sequence& sequence, int64_t tokens) {
  auto missing = [&] {
    return pagesFor(sequence.length() + tokens) -
           int64_t(sequence.pages.size());
  };
  while (missing() > 0 && takePage(sequence))
    ;
  return missing() > 0
             ? int64_t(sequence.pages.size()) * limits.page - sequence.length()
             : tokens;
}

/// Adds at most `most` tokens of a draft to the sequence's tokens in this step,
/// as many as have pages. Returns their number.
int64_t Scheduler::keepGuess(const DraftWish& wish, int64_t most) {
  Sequence& sequence = *wish.sequence;
  most = std::min(most, int64_t(wish.tokens.size()));
  if (most < 1)
    return 0;
  most = takePagesFor(sequence, most);
  if (most < 1)
    return 0;
  sequence.drafted = {sequence.tokens.back()};
  sequence.drafted.insert(sequence.drafted.end(), wish.tokens.begin(),
                          wish.tokens.begin() + long(most));
  return most;
}

void Scheduler::addPrompts(Composition& step) {
  for (Sequence* sequence : active) {
    if (sequence->decodes() || sequence->isUnderway || step.isFull())
      continue;
    const int64_t tokens = promptTokens(step, *sequence);
    if (tokens > 0)
      step.add({sequence, tokens, /*decodes=*/false});
  }
}

/// The number of pending tokens that a sequence computes in this step; 0 when
/// it must wait for a later step.
int64_t Scheduler::promptTokens(const Composition& step,
                                const Sequence& sequence) const {
  const int64_t pending = sequence.pending();
  if (sequence.wantsPromptRows)
    return std::min({pending, step.left, rowsFor(step, sequence)});
  // If the pending tokens exceed a step, the sequence was preempted: submit()
  // refuses such prompts.
  const bool isWhole = !limits.chunkedPrefill && pending <= limits.tokenBudget;
  return isWhole && pending > step.left ? 0 : std::min(pending, step.left);
}

/// The rows of logits that a sequence may use in this step, at least one.
/// Reserves one row for each other sequence that may still join the step, and
/// rows for a draft if that sequence decodes.
int64_t Scheduler::rowsFor(const Composition& step,
                           const Sequence& sequence) const {
  int64_t left = limits.buckets.back().rows;
  for (const Share& share : step.shares)
    left -= share.decodes || share.sequence->wantsPromptRows ? share.tokens : 1;
  auto isComposed = [&](const Sequence* other) {
    return std::ranges::find(step.shares, other, &Share::sequence) !=
           step.shares.end();
  };
  for (const Sequence* other : active)
    if (other != &sequence && !other->isUnderway && !isComposed(other))
      left -= other->decodes() ? 1 + limits.draftTokens : 1;
  const auto waiting = int64_t(queue.size()) - (sequence.slot < 0 ? 1 : 0);
  left -= std::min(int64_t(freeSlots.size()), waiting);
  return std::max<int64_t>(1, left);
}

void Scheduler::startWaiting(Composition& step) {
  while (!freeSlots.empty() && !step.isFull()) {
    Sequence* sequence = nextToStart();
    if (!sequence || !start(step, *sequence))
      return; // sequences behind it wait too, so that long prompts do start
    const int64_t tokens = promptTokens(step, *sequence);
    // A preempted sequence decodes at once if only its last token is not
    // cached.
    step.add({sequence, tokens, sequence->decodes()});
  }
}

/// The waiting sequence to start next: the first one or, while that waits for a
/// place for its adapter, the first one that needs no place or can get one.
/// Null when there is none.
Sequence* Scheduler::nextToStart() {
  // At this limit each place serves several full batches before its adapter is
  // replaced.
  const int64_t most = 4 * limits.maxBatch;
  Sequence* first = queue.first();
  if (!first || adapterPool.canAcquire(first->adapter))
    return first;
  if (first->overtakenBy >= most)
    return nullptr;
  return queue.find([&](const Sequence& sequence) {
    return adapterPool.canAcquire(sequence.adapter);
  });
}

/// Starts a waiting sequence if the cache has the pages that it needs. The
/// caller has checked that its adapter can have a place.
bool Scheduler::start(const Composition& step, Sequence& sequence) {
  if (!takePages(step, sequence))
    return false;
  [[maybe_unused]] const bool isPlaced = adapterPool.acquire(sequence.adapter);
  assert(isPlaced && "the caller has asked");
  if (Sequence* first = queue.first(); first != &sequence)
    ++first->overtakenBy;
  queue.start(sequence);
  counts.reusedTokens += sequence.computed;
  if (sequence.preemptions == 0 && looksUp(sequence)) {
    counts.lookedUpTokens += sequence.length();
    counts.foundTokens += sequence.computed;
    sequence.foundTokens = sequence.computed;
  }
  sequence.slot = *freeSlots.begin();
  freeSlots.erase(freeSlots.begin());
  active.insert(std::upper_bound(active.begin(), active.end(), &sequence,
                                 [](const Sequence* a, const Sequence* b) {
                                   return a->precedes(*b);
                                 }),
                &sequence);
  return true;
}

/// Takes the pages of a sequence that starts: the cached pages of its prefix,
/// then new ones. Takes none and returns false when there are too few.
bool Scheduler::takePages(const Composition& step, Sequence& sequence) {
  const std::vector<OnHost> onHost = sharePages(sequence);
  const auto found = int64_t(sequence.pages.size());
  const int64_t own = pagesFor(sequence.length()) - found;
  const int64_t needed = std::max(own, pagesToReserve(sequence));
  const bool areEnough =
      pages().available() - reserved >= needed + int64_t(onHost.size()) &&
      promptTokens(step, sequence) > 0;
  if (areEnough)
    restorePages(sequence, onHost);
  for (const OnHost& each : onHost)
    cache.releaseOnHost(each.hostPage);
  if (!areEnough) {
    releasePages(sequence);
    sequence.computed = 0;
    return false;
  }
  for (int64_t page = 0; page < own; ++page)
    sequence.pages.push_back(cache.take());
  reserved += pagesToReserve(sequence);
  return true;
}

/// Takes the cached pages of the sequence's prefix, and returns those of them
/// that are on the host; the sequence has none for these yet. The last token is
/// always computed, because its logits are wanted.
std::vector<Scheduler::OnHost> Scheduler::sharePages(Sequence& sequence) {
  std::vector<OnHost> onHost;
  if (!looksUp(sequence))
    return onHost;
  const int64_t most = (sequence.length() - 1) / limits.page;
  for (int64_t i = 0; i < most; ++i) {
    const Hash& key = keyOf(sequence, i);
    const std::optional<int32_t> page = cache.share(key);
    if (!page) {
      const std::optional<int32_t> hostPage = cache.shareOnHost(key);
      if (!hostPage)
        break;
      onHost.push_back({sequence.pages.size(), *hostPage});
    }
    sequence.pages.push_back(page.value_or(noPage));
  }
  sequence.published = int64_t(sequence.pages.size());
  sequence.computed = sequence.published * limits.page;
  return onHost;
}

/// Copies the pages on the host, which are held, into new pages.
void Scheduler::restorePages(Sequence& sequence,
                             std::span<const OnHost> onHost) {
  for (const auto& [index, hostPage] : onHost) {
    sequence.pages[index] = cache.take();
    cache.restore(hostPage, sequence.pages[index],
                  keyOf(sequence, int64_t(index)));
  }
  counts.restoredTokens += int64_t(onHost.size()) * limits.page;
}

void Scheduler::countTokens(const Share& share) {
  const Sequence& sequence = *share.sequence;
  const auto drafted =
      std::max<int64_t>(0, int64_t(sequence.drafted.size()) - 1);
  counts.draftedTokens += drafted;
  ++(share.decodes ? last.decoding : last.prefilling);
  (share.decodes ? last.decodedTokens : last.prefillTokens) += share.tokens;
  if (share.decodes)
    counts.decodedTokens += share.tokens - drafted;
  else if (sequence.length() > sequence.promptTokens)
    counts.recomputedTokens += share.tokens;
  else
    counts.promptTokens += share.tokens;
}

StepPlan Scheduler::planOf(const Composition& composed) {
  StepPlan step;
  last = {};
  for (const Share& share : composed.shares) {
    Sequence& sequence = *share.sequence;
    sequence.isUnderway = true;
    StepPart part;
    part.request = sequence.id;
    part.slot = sequence.slot;
    part.adapter = adapterPool.placeOf(sequence.adapter);
    part.position = sequence.computed;
    part.pages = sequence.pages;
    part.ids = sequence.drafted;
    part.rows = share.tokens;
    if (sequence.drafted.empty())
      part.ids = std::span(sequence.tokens)
                     .subspan(size_t(sequence.computed), size_t(share.tokens));
    if (sequence.wantsPromptRows)
      part.promptRows =
          std::min(share.tokens, sequence.promptTokens - 1 - sequence.computed);
    else if (sequence.drafted.empty())
      part.rows = share.tokens == sequence.pending() ? 1 : 0;
    step.tokens += share.tokens;
    step.rows += part.rows;
    step.parts.push_back(part);
    countTokens(share);
  }
  step.copies = cache.takeCopies();
  if (limits.page > 0)
    step.saves = cache.saveAhead(pagesFor(limits.tokenBudget) + 1);
  step.loads = adapterPool.takeLoads();
  counts.adapterLoads += int64_t(step.loads.size());
  step.bucket = bucketFor(limits.buckets, step.tokens, step.rows);
  ++counts.steps;
  counts.paddedTokens +=
      limits.buckets[size_t(step.bucket)].tokens - step.tokens;
  return step;
}

} // namespace reciperun::serve
