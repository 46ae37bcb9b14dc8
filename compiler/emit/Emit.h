// The last phase: Program → Plan.

#ifndef RECIPEC_EMIT_EMIT_H
#define RECIPEC_EMIT_EMIT_H

#include "compiler/ir/Connections.h"
#include "compiler/ir/Ir.h"
#include "compiler/recipe/Recipe.h"
#include "runtime/plan/Plan.h"

#include <optional>
#include <string>
#include <vector>

namespace recipec::emit {

/// The contents of a plan that neither the Program nor the recipe has.
struct Findings {
  std::vector<reciperun::plan::MemoryTable> memory; // by stage
  reciperun::plan::Prediction prediction;
  std::optional<ir::Connections> connections; // of several GPUs
  /// For serving: the widths N of steps in tokens, ascending. The Program has a
  /// function `step_N` and the bindings `tokens_N`, `positions_N`,
  /// `sequences_N`, `rows_N` and `logits_N` for each.
  std::vector<int64_t> widths;
  /// JSON of the draft model's plan, or empty.
  std::string draft;
  /// JSON of the plan that generates from the exported model, or empty.
  std::string generation;
};

/// Writes the Programs of all stages, with planned memory, as one plan whose
/// first stage is selected. The plan depends only on the arguments and their
/// order, so equal input gives an equal plan.
reciperun::plan::Plan emit(const std::vector<ir::Module>& stages,
                           const recipe::Recipe& recipe, Findings findings);

} // namespace recipec::emit

#endif // RECIPEC_EMIT_EMIT_H
