// The generate pass: a Program that takes a text token by token.

#ifndef RECIPEC_PASSES_GENERATE_H
#define RECIPEC_PASSES_GENERATE_H

#include "compiler/diag/Diagnostic.h"
#include "compiler/ir/Ir.h"

#include <cstdint>
#include <string>
#include <vector>

namespace recipec::passes {

/// Tokens that one call of a generating function takes, the widest first: a
/// prompt goes through in pieces, an answer token by token.
inline constexpr int64_t generationBuckets[] = {64, 1};

/// `step_64`.
std::string bucketFunction(int64_t tokens);
/// The name under which a bucket's value is bound: `tokens_64`.
std::string bucketBinding(const std::string& role, int64_t tokens);

/// Replaces `forward`, which is of one sample on one rank and without a loss,
/// by a function a bucket. The functions share parameters and the KV caches of
/// `capacity` tokens; the inputs `tokens` and `positions` and the output
/// `logits` of each are bound. Attention that is not causal cannot be cached:
/// reported at the model's op.
void addGeneration(ir::Module& program, int64_t capacity, diag::Engine& engine);

} // namespace recipec::passes

#endif // RECIPEC_PASSES_GENERATE_H
