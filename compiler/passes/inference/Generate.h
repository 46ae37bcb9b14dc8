// The generate pass: a Program that takes a text token by token.

#ifndef RECIPEC_PASSES_INFERENCE_GENERATE_H
#define RECIPEC_PASSES_INFERENCE_GENERATE_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/ir/Ir.h"
#include "compiler/recipe/Recipe.h"

#include <cstdint>
#include <string>
#include <vector>

namespace recipec::passes {

/// Tokens of the forward function that the buckets are copied from.
inline constexpr int64_t generationTokens = 64;

/// Tokens that one call of a generating function takes, the widest first.
///
/// Where keys and values are all that an earlier token leaves, they are cached:
/// a prompt goes through in pieces, an answer token by token. The states of
/// `mamba2` are not kept: each call takes the text from its first token on, and
/// the widths, of which each is at most four times the next, bound what is
/// computed in vain.
std::vector<int64_t> generationBuckets(const recipe::Recipe& recipe);

/// `step_64`.
std::string bucketFunction(int64_t tokens);
/// The name under which a bucket's value is bound: `tokens_64`.
std::string bucketBinding(const std::string& role, int64_t tokens);

/// Replaces `forward`, which is of one sample on one rank and without a loss,
/// by a function a bucket. The functions share parameters and the KV caches of
/// `data.sequence` tokens; the inputs `tokens` and `positions`, with states
/// also `segments`, and the output `logits` of each are bound. Attention that
/// is not causal cannot be cached: reported at the model's op.
void addGeneration(ir::Module& program, const recipe::Recipe& recipe,
                   diag::Engine& engine);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_INFERENCE_GENERATE_H
