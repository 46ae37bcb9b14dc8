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

/// 1. Set `etp` to `tp` if a mixture of experts does not give it. Reset the
///    degrees of experts for a model without experts.
/// 2. Pad the vocabulary to a multiple of 128 `tp` if `tp` does not divide it.
///    Choose a sequence length if the job has none, and raise `max_positions`
///    to it.
/// 3. If the pipeline's chunks do not divide the layers, count the loss, or the
///    loss and the embedding, as layers. If that does not help, list the layers
///    of each chunk, with the remainder in the last chunk.
/// An impossible layout is left unchanged.
void fitJob(Job& job, const ModelFacts& facts);

} // namespace recipec::importer

#endif // RECIPEC_IMPORT_FITJOB_H
