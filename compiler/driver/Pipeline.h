// The whole compiler on one page: who runs when.
//
//   parse → sema          Recipe     evaluateRecipe
//   → check lowered → check counts
//   → build → check sizes
//   → adapt               Graph      makeGraph
//   → fuse → check divisibility → shard
//   → differentiate → quantize → recompute → evaluate → accumulate
//   → split stages
//   → optimizer → bucket → first terms → overlap → overlap products
//   → schedule
//   → plan memory         Program    makeProgram
//   → fit → emit          Plan       makePlan
//
// The verifier runs after every pass of what is emitted. Each step gives
// nothing when its input has errors; they are in the session's engine.

#ifndef RECIPEC_DRIVER_PIPELINE_H
#define RECIPEC_DRIVER_PIPELINE_H

#include "compiler/cost/Estimate.h"
#include "compiler/cost/Parameters.h"
#include "compiler/driver/Session.h"
#include "compiler/ir/Ir.h"
#include "compiler/recipe/Recipe.h"
#include "runtime/plan/Plan.h"

#include <optional>
#include <vector>

namespace recipec::driver {

/// Whether the verifier runs after each pass: not for what is compiled to learn
/// whether it compiles and what it takes. It is half of the time.
enum class Verification { eachPass, none };

/// The selected recipe under `changes`, which stand after the session's
/// overrides.
std::optional<recipe::Recipe> evaluateRecipe(Session& session,
                                             diag::Engine& engine,
                                             const sema::Changes& changes = {});

/// The model with its adapter, over whole tensors.
std::optional<ir::Module> makeGraph(const recipe::Recipe& recipe,
                                    diag::Engine& engine);

/// What the ranks of each stage run, with addresses; of the recipe's task.
std::optional<std::vector<ir::Module>>
makeProgram(ir::Module graph, const recipe::Recipe& recipe,
            diag::Engine& engine,
            Verification verification = Verification::eachPass);

/// All phases' results up to the Program.
struct Compilation {
  recipe::Recipe recipe;
  std::vector<ir::Module> stages;
  cost::Estimate estimate;
  cost::ParameterCounts parameters;
};

/// Everything before `emit`. A Program that does not fit the device's memory is
/// a result like any other: see checkFit.
std::optional<Compilation>
compile(Session& session, diag::Engine& engine,
        const sema::Changes& changes = {},
        Verification verification = Verification::eachPass);

/// The plan, and within it the plan that generates from the exported model.
/// None, with diagnostics, when the memory does not suffice.
std::optional<reciperun::plan::Plan> makePlan(Session& session,
                                              diag::Engine& engine,
                                              const Compilation& compilation);

} // namespace recipec::driver

#endif // RECIPEC_DRIVER_PIPELINE_H
