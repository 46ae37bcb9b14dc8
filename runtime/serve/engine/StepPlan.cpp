// See StepPlan.h.

#include "runtime/serve/engine/StepPlan.h"

namespace reciperun::serve {

int bucketFor(const std::vector<plan::Bucket>& buckets, int64_t tokens,
              int64_t rows) {
  size_t index = 0;
  while (buckets[index].tokens < tokens || buckets[index].rows < rows)
    ++index;
  return int(index);
}

static void addRows(int64_t first, int64_t count,
                    std::vector<RowRange>& ranges) {
  if (!ranges.empty() && ranges.back().first + ranges.back().count == first)
    ranges.back().count += count;
  else if (count > 0)
    ranges.push_back({first, count});
}

StepReads readsOf(const StepPlan& step) {
  StepReads reads{step.bucket, step.rows, false, {}, {}};
  int64_t row = 0;
  for (const StepPart& part : step.parts) {
    const int64_t count = part.draw ? part.promptRows : part.rows;
    reads.chosen |= part.draw && part.rows > part.promptRows;
    addRows(row, count, reads.logits);
    if (part.wantsHidden)
      addRows(row, part.rows, reads.hidden);
    row += part.rows;
  }
  return reads;
}

} // namespace reciperun::serve
