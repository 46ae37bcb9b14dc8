// The last phase: Program → Plan.

#ifndef RECIPEC_EMIT_EMIT_H
#define RECIPEC_EMIT_EMIT_H

#include "compiler/ir/Ir.h"
#include "compiler/recipe/Recipe.h"
#include "runtime/plan/Plan.h"

#include <string>
#include <vector>

namespace recipec::emit {

/// What a plan states and neither Program nor recipe knows.
struct Findings {
  std::vector<reciperun::plan::MemoryTable> memory; // by stage
  reciperun::plan::Prediction prediction;
  /// Of task `generate`: token counts N, the widest first, for which the
  /// Program has a function `step_N` and the bindings `tokens_N`, `positions_N`
  /// and `logits_N`.
  std::vector<int64_t> buckets;
  /// JSON of the plan that generates from the exported model, or empty.
  std::string generation;
};

/// Writes the Programs of all stages, whose memory is planned, down as a plan,
/// with the first stage selected. Everything in it follows from the arguments,
/// in their order, so that equal input gives an equal plan.
reciperun::plan::Plan emit(const std::vector<ir::Module>& stages,
                           const recipe::Recipe& recipe, Findings findings);

} // namespace recipec::emit

#endif // RECIPEC_EMIT_EMIT_H
