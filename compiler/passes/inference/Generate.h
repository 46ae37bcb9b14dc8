// The generate pass: makes a Program that processes a text token by token.

#ifndef RECIPEC_PASSES_INFERENCE_GENERATE_H
#define RECIPEC_PASSES_INFERENCE_GENERATE_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/ir/Ir.h"
#include "compiler/recipe/Recipe.h"

#include <cstdint>
#include <string>
#include <vector>

namespace recipec::passes {

/// The number of tokens of the forward function that the buckets are copied
/// from.
inline constexpr int64_t generationTokens = 64;

/// The token counts of the generating functions, largest first.
///
/// When attention's keys and values are the only state, they are cached: a
/// prompt goes through in pieces, an answer token by token. The states of
/// `mamba2` are not kept: each call processes the text from its first token.
/// Each width is then at most four times the next, which bounds the wasted
/// computation.
std::vector<int64_t> generationBuckets(const recipe::Recipe& recipe);

/// `step_64`.
std::string bucketFunction(int64_t tokens);
/// The binding of a bucket's value: `tokens_64`.
std::string bucketBinding(const std::string& role, int64_t tokens);

/// Replaces `forward` (one sample, one rank, no loss) by one function per
/// bucket. The functions share the parameters and the KV caches of
/// `data.sequence` tokens. Binds the inputs `tokens` and `positions` (with
/// states also `segments`) and the output `logits` of each. Reports attention
/// that is not causal, which cannot be cached, at the model's op.
void addGeneration(ir::Module& program, const recipe::Recipe& recipe,
                   diag::Engine& engine);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_INFERENCE_GENERATE_H
