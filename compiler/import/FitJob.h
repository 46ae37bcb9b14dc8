// Completes a job with what Megatron derives from the model.

#ifndef RECIPEC_IMPORT_FITJOB_H
#define RECIPEC_IMPORT_FITJOB_H

#include "compiler/import/Job.h"

#include <cstdint>

namespace recipec::importer {

/// The sizes of a model that a job depends on; 0 where it has none.
struct ModelFacts {
  int64_t layers = 0;
  int64_t experts = 0;
  int64_t vocab = 0;
  int64_t maxPositions = 0;
};

/// 1. Sets `etp` to `tp` where a mixture of experts does not say it, and drops
///    the degrees of experts of a model without any.
/// 2. Pads the vocabulary to a multiple of 128 `tp` where `tp` does not divide
///    it; chooses a sequence where the job has none, and raises
///    `max_positions` to it.
/// 3. Where the pipeline's chunks do not divide the layers, counts the loss as
///    a layer, or the embedding as well, or lists the layers of each chunk with
///    the rest in the last one.
/// Leaves a layout that is impossible as it is.
void fitJob(Job& job, const ModelFacts& facts);

} // namespace recipec::importer

#endif // RECIPEC_IMPORT_FITJOB_H
