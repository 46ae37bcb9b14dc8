// The order of the phases; see Pipeline.h.

#include "compiler/driver/Pipeline.h"

#include "compiler/advice/Advice.h"
#include "compiler/cost/Timeline.h"
#include "compiler/driver/DraftProgram.h"
#include "compiler/driver/MemoryFit.h"
#include "compiler/driver/UserPlaces.h"
#include "compiler/emit/Emit.h"
#include "compiler/ir/Verify.h"
#include "compiler/launch/Environment.h"
#include "compiler/passes/build/Adapt.h"
#include "compiler/passes/build/Build.h"
#include "compiler/passes/check/CheckCalls.h"
#include "compiler/passes/check/CheckKernels.h"
#include "compiler/passes/check/CheckLowered.h"
#include "compiler/passes/check/CheckSizes.h"
#include "compiler/passes/check/CheckTensorNames.h"
#include "compiler/passes/check/Doubts.h"
#include "compiler/passes/differentiate/Accumulate.h"
#include "compiler/passes/differentiate/Differentiate.h"
#include "compiler/passes/differentiate/InitializeGradients.h"
#include "compiler/passes/differentiate/Recompute.h"
#include "compiler/passes/differentiate/RecomputedModules.h"
#include "compiler/passes/distributed/Balance.h"
#include "compiler/passes/distributed/Bucket.h"
#include "compiler/passes/distributed/Connect.h"
#include "compiler/passes/distributed/LowerRing.h"
#include "compiler/passes/distributed/Optimizer.h"
#include "compiler/passes/distributed/Overlap.h"
#include "compiler/passes/distributed/OverlapMatmuls.h"
#include "compiler/passes/distributed/OverlapUpdate.h"
#include "compiler/passes/fuse/Documents.h"
#include "compiler/passes/fuse/Fuse.h"
#include "compiler/passes/fuse/Join.h"
#include "compiler/passes/inference/CacheSize.h"
#include "compiler/passes/inference/ChooseTokens.h"
#include "compiler/passes/inference/Evaluate.h"
#include "compiler/passes/inference/FuseRope.h"
#include "compiler/passes/inference/MultiplyInFp8.h"
#include "compiler/passes/inference/QuantizeWeights.h"
#include "compiler/passes/inference/Serve.h"
#include "compiler/passes/memory/Offload.h"
#include "compiler/passes/memory/PlanMemory.h"
#include "compiler/passes/precision/DispatchInFp8.h"
#include "compiler/passes/precision/FuseCasts.h"
#include "compiler/passes/precision/Quantize.h"
#include "compiler/passes/schedule/CheckChunks.h"
#include "compiler/passes/schedule/Schedule.h"
#include "compiler/passes/schedule/SplitRuns.h"
#include "compiler/passes/schedule/Stages.h"
#include "compiler/passes/shard/CheckDivisibility.h"
#include "compiler/passes/shard/Shard.h"
#include "compiler/recipe/Task.h"
#include "compiler/sema/recipes/Analyze.h"
#include "runtime/plan/Paths.h"
#include "runtime/plan/PlanJson.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <set>

namespace recipec::driver {
namespace {

namespace plan = reciperun::plan;

/// A finding is a bug in the compiler: names the pass and aborts.
[[noreturn]] void fail(const char* pass, const std::string& finding) {
  std::fprintf(stderr, "recipec: internal error after `%s`: %s\n", pass,
               finding.c_str());
  std::abort();
}

class Verifier {
public:
  explicit Verifier(Verification verification)
      : isOn(verification == Verification::eachPass) {}

  void operator()(const ir::Module& module, const char* pass) const {
    if (!isOn)
      return;
    std::vector<std::string> findings = ir::verify(module);
    if (!findings.empty())
      fail(pass, findings.front());
  }

  void operator()(const std::vector<ir::Module>& stages,
                  const char* pass) const {
    for (const ir::Module& stage : stages)
      (*this)(stage, pass);
  }

  /// Checks that the stages do not wait for each other, which would hang the
  /// job.
  void schedules(const std::vector<ir::Module>& stages) const {
    if (!isOn)
      return;
    for (const ir::Schedule& schedule : stages.front().schedules) {
      cost::Timeline timeline = cost::simulate(
          stages, schedule.name, [](int, const ir::Function&) { return 1.0; },
          [](int, const ir::Transfer&) { return 0.0; });
      if (!timeline.deadlock.empty())
        fail("schedule", "the stages wait for one another");
    }
  }

private:
  bool isOn;
};

passes::Extent extentOf(const recipe::Recipe& recipe) {
  passes::Extent extent = passes::trainingExtent(recipe);
  if (!recipe::serves(recipe))
    return extent;
  extent.batch = 1;
  extent.sequence = passes::servingLimits(recipe).tokenBudget;
  extent.loss = false;
  return extent;
}

/// Stops early after an error.
std::vector<ir::Module> lowerTraining(ir::Module program,
                                      const recipe::Recipe& recipe,
                                      diag::Engine& engine,
                                      const Verifier& verify) {
  passes::markDocuments(program, recipe);
  verify(program, "documents");
  passes::shard(program, passes::layoutOf(recipe));
  verify(program, "shard");
  passes::differentiate(program);
  verify(program, "differentiate");
  passes::quantize(program, recipe, engine);
  if (engine.hasErrors())
    return {};
  verify(program, "quantize");
  passes::dispatchInFp8(program, recipe);
  verify(program, "dispatch in fp8");
  passes::recompute(program, recipe);
  verify(program, "recompute");
  passes::addEvaluate(program);
  verify(program, "evaluate");
  passes::accumulate(program);
  verify(program, "accumulate");
  passes::fuseCasts(program);
  verify(program, "fuse casts");
  passes::join(program);
  verify(program, "join");
  std::vector<ir::Module> stages =
      passes::splitStages(std::move(program), recipe, engine);
  if (engine.hasErrors())
    return stages;
  verify(stages, "split stages");
  for (ir::Module& stage : stages)
    passes::addOptimizer(stage, recipe);
  verify(stages, "optimizer");
  for (ir::Module& stage : stages)
    passes::addBalancing(stage);
  verify(stages, "balance");
  for (ir::Module& stage : stages)
    passes::bucket(stage, recipe);
  verify(stages, "bucket");
  for (ir::Module& stage : stages)
    passes::keepQuantizedWeights(stage);
  verify(stages, "keep quantized weights");
  for (ir::Module& stage : stages)
    passes::initializeGradients(stage, recipe.integer("batch.accumulation"));
  verify(stages, "initialize gradients");
  if (passes::overlaps(recipe))
    for (ir::Module& stage : stages)
      passes::overlap(stage);
  verify(stages, "overlap");
  if (passes::overlaps(recipe))
    for (ir::Module& stage : stages)
      passes::overlapMatmuls(stage, recipe);
  verify(stages, "overlap matmuls");
  if (passes::overlaps(recipe))
    for (ir::Module& stage : stages)
      passes::overlapUpdate(stage, recipe.integer("batch.accumulation"));
  verify(stages, "overlap update");
  for (ir::Module& stage : stages)
    passes::offload(stage, recipe);
  verify(stages, "offload");
  for (ir::Module& stage : stages)
    passes::lowerRing(stage);
  verify(stages, "lower ring");
  passes::addSchedules(stages, recipe);
  verify(stages, "schedule");
  verify.schedules(stages);
  return stages;
}

/// Stops early after an error.
std::vector<ir::Module> lowerServing(ir::Module program,
                                     const recipe::Recipe& recipe,
                                     diag::Engine& engine,
                                     const Verifier& verify) {
  passes::chooseTokens(program);
  verify(program, "choose tokens");
  passes::shard(program, passes::layoutOf(recipe));
  verify(program, "shard");
  passes::addServing(program, passes::servingLimits(recipe), engine);
  if (engine.hasErrors())
    return {};
  verify(program, "serve");
  passes::quantizeWeights(program, recipe, engine);
  if (engine.hasErrors())
    return {};
  verify(program, "quantize weights");
  if (recipe.string("serve.activations") == "fp8")
    passes::multiplyInFp8(program);
  passes::fuseCasts(program);
  // On CPUs the kernels of few rows, which linears have, add nothing.
  std::set<ir::OpKind> adding = {ir::OpKind::ScaledMatmul};
  if (recipe.string("cluster.hardware.kind") == "cuda")
    adding.insert(ir::OpKind::Linear);
  passes::accumulate(program, adding);
  verify(program, "multiply in fp8");
  passes::fuseRope(program);
  verify(program, "fuse rope");
  std::vector<ir::Module> stages =
      passes::splitStages(std::move(program), recipe, engine);
  if (engine.hasErrors())
    return stages;
  verify(stages, "split stages");
  passes::addStepSchedules(stages);
  verify(stages, "schedule");
  verify.schedules(stages);
  return stages;
}

plan::Plan emitPlan(const Compilation& compilation, std::string generation) {
  const cost::Estimate& estimate = compilation.estimate;
  emit::Findings findings;
  findings.connections = compilation.connections;
  for (const cost::MemoryTable& memory : estimate.stages)
    findings.memory.push_back(
        {memory.parameters, memory.gradients, memory.optimizer, memory.cache,
         memory.activations, memory.workspace, memory.library, memory.host,
         memory.offloaded, memory.arena, memory.draft, memory.total,
         memory.capacity});
  findings.prediction = {estimate.flopsPerStep, estimate.peakFlops,
                         estimate.stepSeconds};
  if (recipe::serves(compilation.recipe))
    findings.widths =
        passes::stepWidths(passes::servingLimits(compilation.recipe));
  findings.generation = std::move(generation);
  if (compilation.draft)
    findings.draft = plan::toJson(emitPlan(*compilation.draft, ""));
  plan::Plan result =
      emit::emit(compilation.stages, compilation.recipe, std::move(findings));
  // A CPU's peak is a guess: good enough for estimates, but not for an MFU.
  if (result.device == "cpu")
    result.prediction.peakFlops = 0;
  reciperun::Status status = plan::validate(result);
  if (!status.isOk())
    fail("emit", status.message());
  return result;
}

/// The JSON of the plan that generates from the exported model. Returns nullopt
/// with diagnostics, and an empty string if nothing is exported.
std::optional<std::string> generationPlan(Session& session,
                                          diag::Engine& engine,
                                          const Compilation& training) {
  const recipe::Recipe& recipe = training.recipe;
  if (recipe::serves(recipe) || recipe.at("export.hf").isNone())
    return std::string();
  std::optional<Compilation> generation =
      compile(session, engine, {{generationMixin}, {}});
  if (!generation)
    return std::nullopt;
  plan::Plan made = emitPlan(*generation, "");
  // The plan is written into the folder of the exported model, from which the
  // path of the draft model may start.
  if (made.draft && !std::filesystem::path(made.draft->path).is_absolute())
    made.folder = plan::wayTo(
        session.folder,
        plan::resolvePath(session.folder, recipe.string("export.hf")));
  return plan::toJson(made);
}

} // namespace

const sema::LibraryMixin generationMixin = {"std/serving/generation.recipe",
                                            "generation"};

std::optional<recipe::Recipe> evaluateRecipe(Session& session,
                                             diag::Engine& engine,
                                             const sema::Changes& changes) {
  sema::Request request;
  request.file = session.file;
  request.recipe = session.selected.recipe;
  request.point = session.selected.point;
  request.layout = session.selected.layout;
  request.overrides = session.overrides;
  request.changes = changes;
  return sema::analyze(session.sources, request, session.loader, engine);
}

std::optional<ir::Module> makeGraph(const recipe::Recipe& recipe,
                                    diag::Engine& engine) {
  bool isModelLowered = passes::checkLowered(recipe, engine);
  // Settings that are not lowered do not hide other errors.
  int unlowered = engine.errors();
  auto hasFailed = [&] { return engine.errors() > unlowered; };
  passes::checkCounts(recipe, engine);
  passes::checkChunks(recipe, engine);
  passes::checkCalls(recipe, engine);
  if (!isModelLowered || hasFailed())
    return std::nullopt;
  ir::Module graph = passes::build(recipe, extentOf(recipe), engine);
  if (!hasFailed())
    passes::checkSizes(graph, engine);
  if (!hasFailed())
    passes::checkKernels(graph, recipe, engine);
  if (!hasFailed())
    passes::checkTensorNames(graph, engine);
  if (hasFailed())
    return std::nullopt;
  const Verifier verify(Verification::eachPass);
  verify(graph, "build");
  passes::checkRecompute(graph, recipe, engine);
  if (hasFailed())
    return std::nullopt;
  passes::adapt(graph, recipe, engine);
  if (hasFailed())
    return std::nullopt;
  verify(graph, "adapt");
  passes::checkDivisibility(graph, passes::layoutOf(recipe), engine);
  if (engine.hasErrors())
    return std::nullopt;
  return graph;
}

std::optional<std::vector<ir::Module>> makeProgram(ir::Module graph,
                                                   const recipe::Recipe& recipe,
                                                   diag::Engine& engine,
                                                   Verification verification,
                                                   ir::Module* draft) {
  const Verifier verify(verification);
  ir::Module program = std::move(graph);
  passes::fuse(program);
  verify(program, "fuse");
  std::vector<ir::Module> stages =
      recipe::serves(recipe)
          ? lowerServing(std::move(program), recipe, engine, verify)
          : lowerTraining(std::move(program), recipe, engine, verify);
  if (engine.hasErrors())
    return std::nullopt;
  for (ir::Module& stage : stages)
    passes::planMemory(stage);
  verify(stages, "plan memory");
  if (recipe::serves(recipe)) {
    passes::placeHostPages(stages, recipe, engine);
    passes::fitCache(stages, recipe, draft);
  }
  verify(stages, "fit cache");
  for (ir::Module& stage : stages)
    passes::splitRuns(stage);
  verify(stages, "split runs");
  return stages;
}

std::optional<Compilation> compile(Session& session, diag::Engine& engine,
                                   const sema::Changes& changes,
                                   Verification verification) {
  std::optional<recipe::Recipe> recipe =
      evaluateRecipe(session, engine, changes);
  if (!recipe)
    return std::nullopt;
  std::optional<ir::Module> graph = makeGraph(*recipe, engine);
  cost::ParameterCounts parameters;
  std::optional<std::vector<ir::Module>> stages;
  std::shared_ptr<Compilation> draft;
  if (graph && hasDraftModel(*recipe))
    draft = compileDraft(session, engine, *recipe, changes, verification);
  if (graph) {
    parameters = cost::countParameters(*graph);
    stages = makeProgram(std::move(*graph), *recipe, engine, verification,
                         draft ? &draft->stages.front() : nullptr);
  }
  if (stages && draft)
    checkDraftVocabulary(*draft, *stages, *recipe, engine);
  moveToUser(engine, *recipe, session.sources);
  if (!stages || engine.hasErrors())
    return std::nullopt;
  std::optional<ir::Connections> connections =
      passes::connect(*stages, *recipe);
  cost::Estimate estimate = cost::estimate(*stages, connections, *recipe);
  if (draft)
    countDraft(*draft, *recipe, estimate);
  passes::CacheSize cache;
  if (recipe::serves(*recipe))
    cache = passes::measureCache(*stages, *recipe,
                                 draft ? &draft->stages.front() : nullptr);
  return Compilation{
      std::move(*recipe),  std::move(*stages), std::move(connections),
      std::move(estimate), parameters,         cache,
      std::move(draft)};
}

std::optional<plan::Plan> makePlan(Session& session, diag::Engine& engine,
                                   const Compilation& compilation) {
  if (!checkFit(session, engine, compilation))
    return std::nullopt;
  std::optional<std::string> generation =
      generationPlan(session, engine, compilation);
  if (!generation)
    return std::nullopt;
  diag::Engine doubts;
  passes::findDoubts(compilation.recipe, doubts);
  launch::doubtEnvironment(compilation.recipe, doubts);
  diag::Engine advice;
  advice::advise({compilation.recipe, compilation.stages, compilation.estimate,
                  session.sources},
                 advice);
  moveToUser(advice, compilation.recipe, session.sources);
  doubts.append(advice);
  session.doubt(doubts, compilation.recipe);
  return emitPlan(compilation, std::move(*generation));
}

} // namespace recipec::driver
