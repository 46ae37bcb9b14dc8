// The order of forward and backward passes on one stage of a pipeline.

#ifndef RECIPEC_PASSES_SCHEDULE_PIPELINEORDER_H
#define RECIPEC_PASSES_SCHEDULE_PIPELINEORDER_H

#include <string>
#include <vector>

namespace recipec::passes {

/// One pass of a micro-batch through a chunk of the stage.
struct Pass {
  bool isBackward = false;
  int chunk = 0; // of the stage
  int microBatch = 0;
};

struct Pipeline {
  std::string kind; // `1f1b`, `gpipe`, `interleaved`
  int stages = 1;
  int chunks = 1; // of a stage
  int microBatches = 1;
};

/// `gpipe`: all forward passes, then all backward passes (Huang et al. 2019).
/// `1f1b`: a forward pass for each later stage, then one backward pass per
/// forward pass (Narayanan et al. 2019, PipeDream-Flush). `interleaved`: 1f1b
/// over chunks, in groups of as many micro-batches as stages (Narayanan et al.
/// 2021, section 2.2); `stages` divides `microBatches`.
std::vector<Pass> pipelineOrder(const Pipeline& pipeline, int stage);

/// The most micro-batches that are at a time between their forward and their
/// backward pass through a chunk.
int inFlight(const std::vector<Pass>& order, int chunk);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_SCHEDULE_PIPELINEORDER_H
