// The hashes are FNV-1a of 64-bit words.

#include "FakeModel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

namespace reciperun::serve {
namespace {

constexpr uint64_t firstCell = 14695981039346656037u;

uint64_t mixed(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 1099511628211u;
  return hash ^ (hash >> 29);
}

uint64_t cellAfter(uint64_t before, int32_t token, AdapterId adapter) {
  return mixed(before, (uint64_t(uint32_t(token)) + 1) +
                           1000 * uint64_t(adapter - noAdapter));
}

int32_t tokenAfter(std::span<const uint64_t> cells) {
  uint64_t hash = firstCell;
  for (uint64_t cell : cells)
    hash = mixed(hash, cell);
  return int32_t((hash >> 20) % uint64_t(FakeModel::vocabulary));
}

} // namespace

std::vector<plan::Bucket> bucketsOf(const plan::Serving& limits) {
  std::vector<plan::Bucket> buckets;
  auto add = [&](int64_t tokens) {
    plan::Bucket bucket;
    bucket.tokens = tokens;
    bucket.rows = std::min(tokens, limits.maxBatch * (1 + limits.draftTokens));
    buckets.push_back(bucket);
  };
  int64_t tokens = 1;
  for (; tokens < std::min(limits.maxBatch, limits.tokenBudget); tokens *= 2)
    add(tokens);
  if (limits.maxBatch < limits.tokenBudget)
    add(limits.maxBatch);
  for (tokens = 2 * limits.maxBatch; tokens < limits.tokenBudget; tokens *= 2)
    add(tokens);
  add(limits.tokenBudget);
  return buckets;
}

plan::Serving smallLimits() {
  plan::Serving limits;
  limits.maxBatch = 8;
  limits.maxInput = limits.maxOutput = limits.maxTokens = 64;
  limits.tokenBudget = 16;
  limits.page = 4;
  limits.pages = 128;
  limits.prefixCache = true;
  limits.chunkedPrefill = true;
  limits.buckets = bucketsOf(limits);
  return limits;
}

plan::Serving limitsOfAdapters(int64_t adapters) {
  plan::Serving limits = smallLimits();
  limits.adapters = adapters;
  return limits;
}

FakeModel::FakeModel(const plan::Serving& limits, int depth)
    : limits(limits), steps(depth), cache(size_t(limits.pages * limits.page)),
      host(size_t(limits.hostPages * limits.page)),
      states(size_t(limits.maxBatch)),
      places(size_t(limits.adapters), noAdapter) {}

int32_t FakeModel::after(std::span<const int32_t> tokens, AdapterId adapter) {
  std::vector<uint64_t> cells;
  for (int32_t token : tokens)
    cells.push_back(
        cellAfter(cells.empty() ? firstCell : cells.back(), token, adapter));
  return tokenAfter(cells);
}

Status FakeModel::addAdapter(AdapterId adapter,
                             const std::filesystem::path& directory) {
  if (directory == "absent")
    return Status::error("there is no `absent`");
  known.insert(adapter);
  return Status::ok();
}

Status FakeModel::removeAdapter(AdapterId adapter) {
  known.erase(adapter);
  return Status::ok();
}

std::vector<int32_t> FakeModel::answer(std::vector<int32_t> prompt,
                                       int64_t tokens, AdapterId adapter) {
  const size_t before = prompt.size();
  for (int64_t i = 0; i < tokens; ++i)
    prompt.push_back(after(prompt, adapter));
  return {prompt.begin() + long(before), prompt.end()};
}

void FakeModel::checkShape(const StepPlan& step) const {
  const plan::Bucket& bucket = limits.buckets[size_t(step.bucket)];
  int64_t tokens = 0, rows = 0;
  std::set<int> slots;
  for (const StepPart& part : step.parts) {
    ASSERT_FALSE(part.ids.empty());
    ASSERT_LE(part.rows, int64_t(part.ids.size()));
    ASSERT_GE(part.slot, 0);
    ASSERT_LT(part.slot, limits.maxBatch);
    ASSERT_TRUE(slots.insert(part.slot).second) << "a slot has two sequences";
    tokens += int64_t(part.ids.size());
    rows += part.rows;
    const int64_t end = part.position + int64_t(part.ids.size());
    ASSERT_LE(end, limits.maxTokens);
    if (limits.page > 0) {
      ASSERT_GE(int64_t(part.pages.size()) * limits.page, end);
    }
  }
  ASSERT_EQ(tokens, step.tokens);
  ASSERT_EQ(rows, step.rows);
  ASSERT_GT(tokens, 0);
  ASSERT_LE(tokens, limits.tokenBudget);
  ASSERT_LE(tokens, bucket.tokens);
  ASSERT_LE(rows, bucket.rows);
}

/// A sequence is in one step at a time.
void FakeModel::checkSlots(const StepPlan& step) const {
  ASSERT_LT(int(underway.size()), steps);
  for (const Computed& other : underway)
    for (const StepPart& part : step.parts)
      ASSERT_FALSE(other.slots.contains(part.slot));
}

void FakeModel::copyPages(std::span<const PageCopy> copies) {
  for (const PageCopy& each : copies) {
    ASSERT_GE(each.page, 0);
    ASSERT_LT(each.page, limits.pages);
    ASSERT_GE(each.hostPage, 0);
    ASSERT_LT(each.hostPage, limits.hostPages);
    const auto onDevice = cache.begin() + each.page * limits.page;
    const auto onHost = host.begin() + each.hostPage * limits.page;
    if (each.isToHost)
      std::copy_n(onDevice, limits.page, onHost);
    else
      std::copy_n(onHost, limits.page, onDevice);
  }
}

/// No step underway reads the place of an adapter that is loaded.
void FakeModel::load(const StepPlan& step) {
  for (const AdapterLoad& each : step.loads) {
    ASSERT_GE(each.place, 0);
    ASSERT_LT(each.place, limits.adapters);
    for (const Computed& other : underway)
      ASSERT_FALSE(other.places.contains(each.place));
    places[size_t(each.place)] = each.adapter;
  }
}

AdapterId FakeModel::adapterOf(const StepPart& part) const {
  return part.adapter < 0 ? noAdapter : places[size_t(part.adapter)];
}

static std::vector<float> logitsBefore(int32_t next) {
  std::vector<float> logits(FakeModel::vocabulary);
  logits[size_t(next)] = 1;
  return logits;
}

/// The token that a step draws before `next`.
static int32_t drawn(const AnswerDraw& draw, int64_t ahead, int32_t next) {
  const std::vector<float> logits = logitsBefore(next);
  kernels::LogitBlocks blocks;
  EXPECT_TRUE(blocks.scan(logits).isOk());
  return kernels::TokenDraw().draw(draw.options, logits, blocks,
                                   draw.uniform(ahead));
}

Status FakeModel::start(const StepPlan& step) {
  checkShape(step);
  checkSlots(step);
  copyPages(saves);
  copyPages(step.copies);
  saves = step.saves;
  load(step);
  if (testing::Test::HasFatalFailure())
    return Status::error("the step breaks a limit");
  Computed& made = underway.emplace_back();
  made.reads = readsOf(step);
  for (const StepPart& part : step.parts) // all are written before any is read
    enter(part);
  for (const StepPart& part : step.parts) {
    made.slots.insert(part.slot);
    made.places.insert(part.adapter);
    const int64_t end = part.position + int64_t(part.ids.size());
    const std::vector<uint64_t> cells = cellsOf(part, end);
    const bool isPoisoned =
        std::find(part.ids.begin(), part.ids.end(), poison) != part.ids.end();
    for (int64_t row = part.rows; row-- > 0;) {
      if (isPoisoned)
        made.poisoned.insert(int64_t(made.next.size()));
      made.next.push_back(
          tokenAfter(std::span(cells).first(size_t(end - row))));
      made.ends.push_back(end - row);
      const int64_t ahead = part.rows - row - 1 - part.promptRows;
      made.drawn.push_back(
          part.draw ? drawn(*part.draw, ahead, made.next.back()) : -1);
    }
  }
  return Status::ok();
}

uint64_t& FakeModel::cell(const StepPart& part, int64_t position) {
  const int32_t page = part.pages[size_t(position / limits.page)];
  return cache[size_t(page * limits.page + position % limits.page)];
}

void FakeModel::enter(const StepPart& part) {
  std::vector<uint64_t>& state = states[size_t(part.slot)];
  if (part.position == 0)
    state.clear();
  for (size_t i = 0; i < part.ids.size(); ++i) {
    const int64_t position = part.position + int64_t(i);
    state.push_back(cellAfter(state.empty() ? firstCell : state.back(),
                              part.ids[i], adapterOf(part)));
    if (limits.page > 0)
      cell(part, position) =
          cellAfter(position == 0 ? firstCell : cell(part, position - 1),
                    part.ids[i], adapterOf(part));
  }
}

/// What the model has of the first `end` tokens of a sequence.
std::vector<uint64_t> FakeModel::cellsOf(const StepPart& part, int64_t end) {
  const std::vector<uint64_t>& state = states[size_t(part.slot)];
  if (limits.page == 0)
    return state;
  std::vector<uint64_t> cells;
  for (int64_t i = 0; i < end; ++i)
    cells.push_back(cell(part, i));
  if (limits.hasStates) {
    EXPECT_EQ(cells, state);
  }
  return cells;
}

Status FakeModel::finish(StepResults& results) {
  last = std::move(underway.front());
  underway.pop_front();
  results.resize(last.reads, vocabulary, hiddenWidth());
  for (const RowRange& range : last.reads.hidden)
    for (int64_t row = range.first; row < range.first + range.count; ++row) {
      const auto hidden = results.hiddenOf(row, 1, hiddenWidth());
      hidden[0] = float(last.next[size_t(row)]);
      hidden[1] = float(last.ends[size_t(row)]);
    }
  for (size_t row = 0; row < results.chosen.size(); ++row)
    results.chosen[row] =
        last.poisoned.contains(int64_t(row)) ? -1 : last.drawn[row];
  for (const RowRange& range : last.reads.logits)
    for (int64_t row = range.first; row < range.first + range.count; ++row) {
      const auto logits = results.logitsOf(row, 1, vocabulary);
      std::ranges::copy(logitsBefore(last.next[size_t(row)]), logits.begin());
      if (last.poisoned.contains(row))
        logits[3] = std::numeric_limits<float>::quiet_NaN();
    }
  return Status::ok();
}

} // namespace reciperun::serve
