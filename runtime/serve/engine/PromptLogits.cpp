// A step gives at most the rows of its bucket, so that the ids are processed in
// pieces of so many.

#include "runtime/serve/engine/PromptLogits.h"

#include <algorithm>
#include <numeric>
#include <string>

namespace reciperun::serve {

Status checkIds(std::span<const int32_t> ids, int64_t vocab) {
  for (int32_t id : ids)
    if (id < 0 || id >= vocab)
      return Status::error("token " + std::to_string(id) +
                           " is outside the model's vocabulary of " +
                           std::to_string(vocab));
  return Status::ok();
}

Expected<Logits> promptLogits(StepModel& model, const plan::Serving& limits,
                              std::span<const int32_t> ids) {
  if (ids.empty())
    return Status::error("the prompt has no token");
  if (int64_t(ids.size()) > limits.maxTokens)
    return Status::error("the prompt has " + std::to_string(ids.size()) +
                         " tokens, the plan takes " +
                         std::to_string(limits.maxTokens) +
                         "; compile with a larger `data.sequence`");
  RECIPERUN_TRY(checkIds(ids, model.vocab()));
  std::vector<int32_t> pages;
  if (limits.page > 0)
    pages.resize(size_t((int64_t(ids.size()) + limits.page - 1) / limits.page));
  std::iota(pages.begin(), pages.end(), 0);
  const size_t most = size_t(limits.buckets.back().rows);
  StepResults results;
  Logits all{0, model.vocab(), {}};
  all.values.resize(ids.size() * size_t(all.vocab));
  while (all.tokens < int64_t(ids.size())) {
    const auto piece = ids.subspan(size_t(all.tokens));
    const int64_t count = int64_t(std::min(piece.size(), most));
    const StepPart part{/*request=*/0,
                        /*slot=*/0,
                        /*position=*/all.tokens,
                        piece.first(size_t(count)),
                        pages,
                        /*rows=*/count};
    RECIPERUN_TRY(model.start(
        {bucketFor(limits.buckets, count, count), count, count, {part}}));
    RECIPERUN_TRY(model.finish(results));
    for (int64_t row = 0; row < count; ++row)
      RECIPERUN_TRY(checkFinite(results.logitsOf(row, 1, all.vocab)));
    std::ranges::copy(results.logitsOf(0, count, all.vocab),
                      all.values.begin() + all.tokens * all.vocab);
    all.tokens += count;
  }
  return all;
}

} // namespace reciperun::serve
