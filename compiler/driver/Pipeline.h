// The whole compiler on one page: the order of the phases.
//
//   parse → sema          Recipe     evaluateRecipe
//   → check lowered → check counts
//   → build → check sizes → check tensor names
//   → adapt               Graph      makeGraph
//   → check divisibility → fuse → documents → shard
//   → differentiate → quantize → recompute → evaluate → accumulate
//   → fuse casts → join
//   → split stages
//   → optimizer → balance → bucket → keep quantized weights
//   → initialize gradients → overlap → overlap matmuls → overlap update
//   → offload
//   → schedule
//   → plan memory → fit cache
//   → split runs          Program    makeProgram
//   (a draft model goes through all of it first: compileDraft)
//   → connect
//   → fit → advise → emit Plan       makePlan
//
// The verifier runs after every pass if the result is emitted. Each step
// returns nullopt if its input has errors; the session's engine has the errors.

#ifndef RECIPEC_DRIVER_PIPELINE_H
#define RECIPEC_DRIVER_PIPELINE_H

#include "compiler/cost/Estimate.h"
#include "compiler/cost/Parameters.h"
#include "compiler/driver/Session.h"
#include "compiler/ir/Connections.h"
#include "compiler/ir/Ir.h"
#include "compiler/passes/inference/CacheSize.h"
#include "compiler/recipe/Recipe.h"
#include "runtime/plan/Plan.h"

#include <memory>
#include <optional>
#include <vector>

namespace recipec::driver {

/// Whether the verifier runs after each pass. It takes half of the time, so
/// compilations whose Program is not emitted turn it off.
enum class Verification { eachPass, none };

/// Evaluates the selected recipe with `changes`, which come after the session's
/// overrides.
std::optional<recipe::Recipe> evaluateRecipe(Session& session,
                                             diag::Engine& engine,
                                             const sema::Changes& changes = {});

/// The model with its adapter, over full tensors.
std::optional<ir::Module> makeGraph(const recipe::Recipe& recipe,
                                    diag::Engine& engine);

/// Turns a training recipe into the recipe that generates from its export, on
/// one rank.
extern const sema::LibraryMixin generationMixin;

/// The Program of each stage, with addresses, for the recipe's task. `draft` is
/// the Program of the draft model, if there is one: both get equal pages.
std::optional<std::vector<ir::Module>>
makeProgram(ir::Module graph, const recipe::Recipe& recipe,
            diag::Engine& engine,
            Verification verification = Verification::eachPass,
            ir::Module* draft = nullptr);

/// The results of all phases up to the Program.
struct Compilation {
  recipe::Recipe recipe;
  std::vector<ir::Module> stages;
  /// How the ranks communicate; absent where GPUs have nothing to exchange.
  std::optional<ir::Connections> connections;
  cost::Estimate estimate;
  cost::ParameterCounts parameters;
  passes::CacheSize cache;                 // of a recipe that serves
  std::shared_ptr<Compilation> draft = {}; // of `serve.draft`, or null

  /// Whether the device holds the Program, and its cache the longest sequence.
  bool fits() const { return estimate.memory.fits() && cache.holdsSequence(); }
};

/// Runs all phases before `emit`. Also returns a Program that does not fit the
/// device's memory: see checkFit.
std::optional<Compilation>
compile(Session& session, diag::Engine& engine,
        const sema::Changes& changes = {},
        Verification verification = Verification::eachPass);

/// The plan. It embeds the plan that generates from the exported model. Returns
/// nullopt, with diagnostics, if the memory is too small.
std::optional<reciperun::plan::Plan> makePlan(Session& session,
                                              diag::Engine& engine,
                                              const Compilation& compilation);

} // namespace recipec::driver

#endif // RECIPEC_DRIVER_PIPELINE_H
