// Sizes, names and attributes of a plan's parts.

#include "runtime/plan/Plan.h"

#include "runtime/ops/OpKind.h"
#include "runtime/plan/Mesh.h"

#include <algorithm>
#include <cassert>
#include <set>

namespace reciperun::plan {

const Stage& stageOf(const Plan& plan, int rank) {
  assert(!plan.stages.empty() && "a plan has a stage");
  return plan.stages[size_t(coordinate(plan.mesh, rank, "pp"))];
}

Holding holdingOf(const Stage& stage, int parameter) {
  auto found = std::find_if(
      stage.holdings.begin(), stage.holdings.end(),
      [&](const Holding& each) { return each.parameter == parameter; });
  return found == stage.holdings.end() ? Holding{parameter, -1, -1} : *found;
}

int64_t copies(const Stage& stage, int buffer) {
  const Buffer& found = stage.buffers[size_t(buffer)];
  return found.frame < 0
             ? found.slots
             : int64_t(stage.frames[size_t(found.frame)].offsets.size());
}

int64_t copyOffset(const Stage& stage, const Buffer& buffer, int microBatch) {
  if (buffer.frame < 0)
    return microBatch % buffer.slots * buffer.slotStride;
  const std::vector<int64_t>& offsets =
      stage.frames[size_t(buffer.frame)].offsets;
  return offsets[size_t(microBatch) % offsets.size()];
}

int64_t pagesOfSequence(const Serving& serving) {
  if (serving.page <= 0)
    return 0;
  return serving.maxTokens / serving.page +
         (serving.maxTokens % serving.page != 0);
}

std::vector<int> cachePages(const Stage& stage) {
  std::set<int> pages;
  for (const Function& function : stage.functions)
    for (const Op& op : function.ops)
      if (op.kind == OpKind::AttentionPaged)
        pages.insert(op.outputs.begin() + 1, op.outputs.end());
  pages.erase(-1);
  return {pages.begin(), pages.end()};
}

int64_t pageBytes(const Buffer& pages) {
  return elementCount(pages.shape) / pages.shape[0] * byteSize(pages.dtype);
}

bool isServingTask(std::string_view task) {
  return task == "generate" || task == "serve";
}

/// Whether `holds` is true for a source or for one of the sources it blends.
template <class Holds>
static bool holdsFor(const std::optional<DataSource>& source, Holds holds) {
  return source &&
         (holds(*source) ||
          std::any_of(source->sources.begin(), source->sources.end(), holds));
}

bool readsText(const Data& data) {
  auto isText = [](const DataSource& source) {
    return source.kind == "jsonl" || source.kind == "text";
  };
  return holdsFor(data.train, isText) || holdsFor(data.valid, isText);
}

bool readsMessages(const Data& data) {
  return holdsFor(data.train, [](const DataSource& source) {
    return !source.messages.empty();
  });
}

} // namespace reciperun::plan
