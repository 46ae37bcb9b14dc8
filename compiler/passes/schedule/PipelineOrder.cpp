// 1. List the stage's forward passes and its backward passes in order: chunk by
//    chunk for every group of micro-batches.
// 2. Take the forward passes of the warm-up, then alternate forward and
//    backward passes, then take the remaining backward passes.

#include "compiler/passes/schedule/PipelineOrder.h"

#include <algorithm>

namespace recipec::passes {
namespace {

/// The passes of one direction. With several chunks, groups of `stages`
/// micro-batches go through one chunk after another.
std::vector<Pass> passes(const Pipeline& pipeline, bool isBackward) {
  std::vector<Pass> result;
  int group = pipeline.chunks > 1 ? pipeline.stages : 1;
  for (int first = 0; first < pipeline.microBatches; first += group)
    for (int i = 0; i < pipeline.chunks; ++i)
      for (int m = first; m < first + group; ++m)
        result.push_back(
            {isBackward, isBackward ? pipeline.chunks - 1 - i : i, m});
  return result;
}

int warmup(const Pipeline& pipeline, int stage) {
  int all = pipeline.microBatches * pipeline.chunks;
  if (pipeline.kind == "gpipe")
    return all;
  int following = pipeline.stages - 1 - stage;
  if (pipeline.chunks == 1)
    return std::min(following, all);
  return std::min(2 * following + (pipeline.chunks - 1) * pipeline.stages, all);
}

} // namespace

std::vector<Pass> pipelineOrder(const Pipeline& pipeline, int stage) {
  std::vector<Pass> forward = passes(pipeline, false);
  std::vector<Pass> backward = passes(pipeline, true);
  size_t first = size_t(warmup(pipeline, stage));
  std::vector<Pass> order(forward.begin(), forward.begin() + long(first));
  for (size_t i = 0; i < backward.size(); ++i) {
    if (first + i < forward.size())
      order.push_back(forward[first + i]);
    order.push_back(backward[i]);
  }
  return order;
}

int inFlight(const std::vector<Pass>& order, int chunk) {
  int now = 0, most = 0;
  for (const Pass& pass : order) {
    if (pass.chunk != chunk)
      continue;
    now += pass.isBackward ? -1 : 1;
    most = std::max(most, now);
  }
  return most;
}

} // namespace recipec::passes
