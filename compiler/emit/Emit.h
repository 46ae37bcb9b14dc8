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

/// The parts of a plan that come from neither the Programs nor the recipe.
struct Findings {
  std::vector<reciperun::plan::MemoryTable> memory; // by stage
  reciperun::plan::Prediction prediction;
  std::optional<ir::Connections> connections; // none: one rank, or CPUs
  /// For serving: the widths N of steps in tokens, ascending. For each, the
  /// Program has a function `step_N` and the bindings of addServing, such as
  /// `tokens_N`.
  std::vector<int64_t> widths;
  /// JSON of the draft model's plan, or empty.
  std::string draft;
  /// JSON of the plan that generates text from the exported model, or empty.
  std::string generation;
};

/// Writes the Programs of all stages, with planned memory, as one plan whose
/// first stage is selected. The plan depends only on the arguments and their
/// order, so equal input gives an equal plan.
reciperun::plan::Plan emit(const std::vector<ir::Module>& stages,
                           const recipe::Recipe& recipe, Findings findings);

} // namespace recipec::emit

#endif // RECIPEC_EMIT_EMIT_H
