// Makes a Program that processes tokens of several sequences in a step, and
// keeps the state that later tokens of the sequences need.

#ifndef RECIPEC_PASSES_INFERENCE_SERVE_H
#define RECIPEC_PASSES_INFERENCE_SERVE_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/ir/Ir.h"
#include "compiler/passes/inference/ServingLimits.h"

namespace recipec::passes {

/// The dimension of the cache's pages, whose size fitCache sets.
inline constexpr const char* cachePagesDim = "cache_pages";

/// Replaces `forward` (one sample of `limits.tokenBudget` tokens, without a
/// loss and with a `sample` at its end) by one function per width of
/// stepWidths. All functions share the parameters, the pages of keys and
/// values, the states of state-space layers and the input `pages`. The cache
/// has the pages of one longest sequence; fitCache sets the final number. Binds
/// `pages`, if the model has attention. For each width binds the inputs
/// `tokens`, `positions`, `sequences`, `rows`, `draws` and, for a server of
/// adapters, `adapters`, and the outputs `logits` and `chosen`. Reports
/// attention that is not causal, at the model's op, and drafts for a model with
/// states.
void addServing(ir::Module& program, const ServingLimits& limits,
                diag::Engine& engine);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_INFERENCE_SERVE_H
