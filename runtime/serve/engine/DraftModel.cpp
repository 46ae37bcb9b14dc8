// See DraftModel.h. If two sequences share a page, each may compute it: both
// write the same keys and values.

#include "runtime/serve/engine/DraftModel.h"

#include "runtime/serve/engine/PagePool.h"

#include <algorithm>
#include <cassert>
#include <utility>

namespace reciperun::serve {

DraftModel::DraftModel(std::unique_ptr<StepModel> model,
                       const plan::Serving& limits)
    : model(std::move(model)), limits(limits),
      contents(size_t(limits.page > 0 ? limits.pages : 0)) {
  assert(!limits.hasStates && "a guess can be taken back");
}

void DraftModel::propose(std::span<DraftWish> wishes) {
  std::vector<Turn> turns;
  for (DraftWish& wish : wishes)
    if (wish.most > 0)
      turns.push_back(begin(wish));
  while (failure.isOk() && !turns.empty()) {
    failure = runStep(turns);
    std::erase_if(turns, [](const Turn& turn) { return turn.isDone(); });
  }
}

DraftModel::Turn DraftModel::begin(DraftWish& wish) {
  const Sequence& sequence = *wish.sequence;
  const auto [found, isNew] = sequences.try_emplace(sequence.id);
  Held& held = found->second;
  if (isNew)
    reusePages(held, sequence);
  acceptChosen(held, sequence);
  // Reserve, because a step has spans of these tokens while more are appended.
  wish.tokens.clear();
  wish.tokens.reserve(size_t(wish.most));
  return {&wish, &held};
}

/// Keeps the draft tokens that proved right. The last token of the sequence is
/// always computed again, because its logits are needed.
void DraftModel::acceptChosen(Held& held, const Sequence& sequence) const {
  const int64_t most = sequence.length() - 1;
  held.computed = std::min(held.computed, most);
  for (int32_t token : held.ahead) {
    if (held.computed == most ||
        sequence.tokens[size_t(held.computed)] != token)
      break;
    ++held.computed;
  }
  held.ahead.clear();
}

/// Reuses the leading pages of a sequence that already hold its tokens.
void DraftModel::reusePages(Held& held, const Sequence& sequence) const {
  if (limits.page == 0)
    return;
  const int64_t most = (sequence.length() - 1) / limits.page;
  while (held.full < most &&
         contents[size_t(sequence.pages[size_t(held.full)])] ==
             keyOf(held, sequence, held.full))
    ++held.full;
  held.computed = held.full * limits.page;
}

/// The key of a full page. Also computes the missing keys of earlier pages.
const Hash& DraftModel::keyOf(Held& held, const Sequence& sequence,
                              int64_t page) const {
  const std::span<const int32_t> tokens = sequence.tokens;
  std::vector<Hash>& keys = held.keys;
  while (int64_t(keys.size()) <= page)
    keys.push_back(pageKey(keys.empty() ? Hash() : keys.back(),
                           tokens.subspan(keys.size() * size_t(limits.page),
                                          size_t(limits.page))));
  return keys[size_t(page)];
}

std::span<const int32_t> DraftModel::Turn::pending() const {
  if (!wish->tokens.empty())
    return std::span(wish->tokens).last(1);
  return std::span(wish->sequence->tokens).subspan(size_t(held->computed));
}

/// Computes a step of the draft model with at least one token of each turn.
Status DraftModel::runStep(std::span<Turn> turns) {
  const StepPlan step = planOf(turns);
  invalidatePages(step);
  RECIPERUN_TRY(model->start(step));
  RECIPERUN_TRY(model->finish(results));
  counted += step.tokens;
  int64_t row = 0;
  for (size_t i = 0; i < turns.size(); ++i)
    take(turns[i], step.parts[i], row);
  return Status::ok();
}

StepPlan DraftModel::planOf(std::span<const Turn> turns) const {
  StepPlan step;
  for (size_t i = 0; i < turns.size(); ++i) {
    const Turn& turn = turns[i];
    const Sequence& sequence = *turn.wish->sequence;
    const auto others = int64_t(turns.size() - i - 1);
    const std::span<const int32_t> pending = turn.pending();
    const int64_t tokens = std::min(int64_t(pending.size()),
                                    limits.tokenBudget - step.tokens - others);
    StepPart part;
    part.request = sequence.id;
    part.slot = sequence.slot;
    part.position = turn.position();
    part.ids = pending.first(size_t(tokens));
    part.pages = sequence.pages;
    part.rows = tokens == int64_t(pending.size()) ? 1 : 0;
    part.draw.emplace(); // the likeliest token
    step.tokens += tokens;
    step.rows += part.rows;
    step.parts.push_back(part);
  }
  step.bucket = bucketFor(limits.buckets, step.tokens, step.rows);
  return step;
}

/// Forgets the keys of the pages that the step overwrites.
void DraftModel::invalidatePages(const StepPlan& step) {
  if (limits.page == 0)
    return;
  for (const StepPart& part : step.parts) {
    const int64_t last = part.position + int64_t(part.ids.size()) - 1;
    for (int64_t page = part.position / limits.page; page <= last / limits.page;
         ++page)
      contents[size_t(part.pages[size_t(page)])].reset();
  }
}

/// Takes the result of a turn's part. `row` is the next row of the results.
void DraftModel::take(Turn& turn, const StepPart& part, int64_t& row) {
  Held& held = *turn.held;
  DraftWish& wish = *turn.wish;
  if (wish.tokens.empty()) {
    held.computed += int64_t(part.ids.size());
    notePages(held, *wish.sequence);
  } else {
    held.ahead.push_back(part.ids.front());
  }
  if (part.rows == 0)
    return;
  const int32_t token = results.chosen[size_t(row++)];
  turn.hasEnded = token < 0;
  if (!turn.hasEnded)
    wish.tokens.push_back(token);
}

/// Records the keys of pages that have become full, so that they can be reused.
void DraftModel::notePages(Held& held, const Sequence& sequence) {
  if (limits.page == 0)
    return;
  for (; (held.full + 1) * limits.page <= held.computed; ++held.full)
    contents[size_t(sequence.pages[size_t(held.full)])] =
        keyOf(held, sequence, held.full);
}

} // namespace reciperun::serve
