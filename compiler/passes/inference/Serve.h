// The serve pass: makes a Program that processes tokens of several sequences in
// a step, and keeps what later tokens of the sequences need.

#ifndef RECIPEC_PASSES_INFERENCE_SERVE_H
#define RECIPEC_PASSES_INFERENCE_SERVE_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/ir/Ir.h"
#include "compiler/passes/inference/ServingLimits.h"

namespace recipec::passes {

/// The dimension of the cache's pages, whose size fitCache sets.
inline constexpr const char* cachePagesDim = "cache_pages";

/// Replaces `forward` (one sample of `limits.tokenBudget` tokens, no loss, and
/// the choice of the likeliest token at its end) by one function per width of
/// stepWidths. All functions share the parameters, the pages of keys and
/// values, the states of state-space layers and the input `pages`. The cache
/// has the pages of one longest sequence. Binds `pages`, when the model has
/// attention, and of each width the inputs `tokens`, `positions`, `sequences`,
/// `rows` and, of a server of adapters, `adapters`, and the outputs `logits`
/// and `likeliest`. Reports attention that is not causal, at the model's op,
/// and drafts for a model with states.
void addServing(ir::Module& program, const ServingLimits& limits,
                diag::Engine& engine);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_INFERENCE_SERVE_H
