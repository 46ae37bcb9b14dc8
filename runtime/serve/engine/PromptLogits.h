// The logits after each token of a prompt, for comparison with other programs.

#ifndef RECIPERUN_SERVE_ENGINE_PROMPTLOGITS_H
#define RECIPERUN_SERVE_ENGINE_PROMPTLOGITS_H

#include "runtime/base/Status.h"
#include "runtime/plan/Plan.h"
#include "runtime/serve/engine/StepModel.h"

#include <cstdint>
#include <span>
#include <vector>

namespace reciperun::serve {

/// The model's predictions after each of some tokens.
struct Logits {
  int64_t tokens = 0;
  int64_t vocab = 0;
  std::vector<float> values; // [tokens, vocab]
};

/// The logits after each of `ids`, the first of which starts the sequence. Uses
/// slot 0 and the first pages of the cache, so that no engine may run on the
/// model. Fails when there are no ids or more than the plan takes, when one is
/// outside the vocabulary, and when logits are not finite.
Expected<Logits> promptLogits(StepModel& model, const plan::Serving& limits,
                              std::span<const int32_t> ids);

/// Fails when an id is outside the vocabulary.
Status checkIds(std::span<const int32_t> ids, int64_t vocab);

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_ENGINE_PROMPTLOGITS_H
