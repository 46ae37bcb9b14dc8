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

/// `gpipe`: all forward, then all backward (Huang et al. 2019). `1f1b`: as many
/// forward passes as stages follow, then one backward for each forward
/// (Narayanan et al. 2019, PipeDream-Flush). `interleaved`: 1f1b over chunks,
/// in groups of as many micro-batches as stages (Narayanan et al. 2021, section
/// 2.2); `stages` divides `microBatches`.
std::vector<Pass> pipelineOrder(const Pipeline& pipeline, int stage);

/// Micro-batches that have gone forward and not yet backward through a chunk,
/// at most.
int inFlight(const std::vector<Pass>& order, int chunk);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_SCHEDULE_PIPELINEORDER_H
