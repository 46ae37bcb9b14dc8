// See StepMessage.h.

#include "runtime/serve/engine/StepMessage.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>

namespace reciperun::serve {
namespace {

/// Takes values from the front of a message.
class Reader {
public:
  explicit Reader(std::span<const int32_t> rest) : rest(rest) {}

  int32_t next() { return take(1)[0]; }
  std::span<const int32_t> take(size_t count) {
    assert(count <= rest.size() && "appendStep wrote the message");
    const auto taken = rest.first(count);
    rest = rest.subspan(count);
    return taken;
  }

private:
  std::span<const int32_t> rest;
};

using DrawWords = std::array<int32_t, sizeof(AnswerDraw) / sizeof(int32_t)>;

void appendDraw(const AnswerDraw& draw, std::vector<int32_t>& message) {
  const auto words = std::bit_cast<DrawWords>(draw);
  message.insert(message.end(), words.begin(), words.end());
}

AnswerDraw drawOf(Reader& reader) {
  DrawWords words;
  std::ranges::copy(reader.take(words.size()), words.begin());
  return std::bit_cast<AnswerDraw>(words);
}

} // namespace

void appendStep(const StepPlan& step, std::vector<int32_t>& message) {
  auto append = [&](auto... numbers) {
    message.insert(message.end(), {int32_t(numbers)...});
  };
  append(step.bucket, step.tokens, step.rows, step.parts.size(),
         step.copies.size(), step.saves.size(), step.loads.size());
  for (const StepPart& part : step.parts)
    append(part.slot, part.adapter, part.position, part.rows, part.promptRows,
           part.draw.has_value(), part.wantsHidden, part.ids.size(),
           part.pages.size());
  for (const StepPart& part : step.parts) {
    if (part.draw)
      appendDraw(*part.draw, message);
    message.insert(message.end(), part.ids.begin(), part.ids.end());
    message.insert(message.end(), part.pages.begin(), part.pages.end());
  }
  for (const auto* copies : {&step.copies, &step.saves})
    for (const PageCopy& copy : *copies)
      append(copy.page, copy.hostPage, copy.isToHost);
  for (const AdapterLoad& load : step.loads)
    append(load.adapter, load.place);
}

StepPlan readStep(std::span<const int32_t> message) {
  Reader reader(message);
  StepPlan step;
  step.bucket = reader.next();
  step.tokens = reader.next();
  step.rows = reader.next();
  step.parts.resize(size_t(reader.next()));
  step.copies.resize(size_t(reader.next()));
  step.saves.resize(size_t(reader.next()));
  step.loads.resize(size_t(reader.next()));
  std::vector<std::pair<size_t, size_t>> counts; // of ids and pages
  for (StepPart& part : step.parts) {
    part.slot = reader.next();
    part.adapter = reader.next();
    part.position = reader.next();
    part.rows = reader.next();
    part.promptRows = reader.next();
    if (reader.next() != 0)
      part.draw.emplace();
    part.wantsHidden = reader.next() != 0;
    const auto ids = size_t(reader.next()), pages = size_t(reader.next());
    counts.emplace_back(ids, pages);
  }
  for (size_t i = 0; i < step.parts.size(); ++i) {
    if (step.parts[i].draw)
      step.parts[i].draw = drawOf(reader);
    step.parts[i].ids = reader.take(counts[i].first);
    step.parts[i].pages = reader.take(counts[i].second);
  }
  for (auto* copies : {&step.copies, &step.saves})
    for (PageCopy& copy : *copies) {
      copy.page = reader.next();
      copy.hostPage = reader.next();
      copy.isToHost = reader.next() != 0;
    }
  for (AdapterLoad& load : step.loads) {
    load.adapter = reader.next();
    load.place = reader.next();
  }
  return step;
}

} // namespace reciperun::serve
