// The rules of the advice, by what they are about. Each reports at most one
// warning of each of its kinds; DiagnosticKinds.def lists the kinds.

#ifndef RECIPEC_ADVICE_RULES_H
#define RECIPEC_ADVICE_RULES_H

#include "compiler/advice/Facts.h"
#include "compiler/diag/Diagnostic.h"

namespace recipec::advice {

/// TensorParallelOverNetwork, ExpertParallelOverNetwork, SplitNvlinkDomain.
void adviseLinks(const Facts& facts, diag::Engine& engine);
/// NarrowTensorParallel, ShortContextParallel, ExpertTensorParallel.
void adviseShards(const Facts& facts, diag::Engine& engine);
/// PipelineNotInterleaved.
void adviseInterleaving(const Facts& facts, diag::Engine& engine);
/// UnbalancedStages.
void adviseBalance(const Facts& facts, diag::Engine& engine);
/// SmallFp8Matmuls, LossyGradientReduction.
void advisePrecision(const Facts& facts, diag::Engine& engine);
/// SmallBuckets.
void adviseBuckets(const Facts& facts, diag::Engine& engine);
/// NeedlessRecompute.
void adviseRecompute(const Facts& facts, diag::Engine& engine);
/// SlowOffload.
void adviseOffload(const Facts& facts, diag::Engine& engine);

} // namespace recipec::advice

#endif // RECIPEC_ADVICE_RULES_H
