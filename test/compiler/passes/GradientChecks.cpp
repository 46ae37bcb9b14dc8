// See GradientChecks.h.

#include "test/compiler/passes/GradientChecks.h"

#include "compiler/ir/Verify.h"
#include "compiler/passes/build/Adapt.h"
#include "compiler/passes/build/Build.h"
#include "compiler/passes/differentiate/Accumulate.h"
#include "compiler/passes/differentiate/Differentiate.h"
#include "compiler/passes/fuse/Fuse.h"
#include "compiler/passes/fuse/Join.h"
#include "compiler/passes/inference/Evaluate.h"
#include "compiler/passes/shard/Shard.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace recipec::test {

using namespace passes;

ir::Module compile(const Model& model, Degrees degrees) {
  RecipeWriter writer;
  writer.degrees(degrees.dp, degrees.tp, degrees.sequence);
  writer.experts(degrees.ep, degrees.etp);
  writer.set("batch.micro", 4 / degrees.dp);
  recipe::Recipe recipe = model(writer);
  diag::Engine engine;
  ir::Module module = build(recipe, trainingExtent(recipe), engine);
  adapt(module, recipe, engine);
  for (const diag::Diagnostic& each : engine.all())
    ADD_FAILURE() << each.message;
  fuse(module);
  shard(module, layoutOf(recipe));
  differentiate(module);
  EXPECT_EQ(ir::verify(module), std::vector<std::string>());
  addEvaluate(module);
  accumulate(module);
  EXPECT_EQ(ir::verify(module), std::vector<std::string>());
  join(module);
  EXPECT_EQ(ir::verify(module), std::vector<std::string>());
  return module;
}

namespace {

struct Result {
  double loss = 0;
  std::vector<Array> gradients; // of trainable parameters, in order
};

/// The loss that is trained: that of the next token and, if the model predicts
/// it, of the one after it.
double lossOf(const Interpreter& run, const ir::Module& module) {
  double loss = 0;
  for (const char* role : {"loss", "further_loss"})
    if (auto sum = module.bindings.find(role); sum != module.bindings.end())
      loss += run.whole(sum->second)[0];
  return loss;
}

Result evaluate(const ir::Module& module) {
  Interpreter run(module);
  run.run("forward");
  run.run("backward");
  EXPECT_FALSE(run.hasOverflown());
  Result result;
  result.loss = lossOf(run, module);
  for (const ir::Param& param : module.params)
    if (param.gradient != ir::ValueId::none)
      result.gradients.push_back(run.whole(param.gradient));
  return result;
}

void expectNear(const Array& found, const Array& expected, double tolerance,
                const std::string& what) {
  ASSERT_EQ(found.size(), expected.size());
  double scale = 1e-12;
  for (double each : expected)
    scale = std::max(scale, std::abs(each));
  for (size_t i = 0; i < found.size(); ++i)
    ASSERT_NEAR(found[i], expected[i], tolerance * scale)
        << what << " at " << i;
}

} // namespace

void expectLayoutsAgree(const Model& model, std::span<const Degrees> layouts) {
  Result expected = evaluate(compile(model, oneRank));
  for (Degrees degrees : layouts) {
    ir::Module module = compile(model, degrees);
    std::string name =
        "dp " + std::to_string(degrees.dp) + " tp " +
        std::to_string(degrees.tp) + (degrees.sequence ? " sp" : "") + " ep " +
        std::to_string(degrees.ep) + " etp " + std::to_string(degrees.etp);
    Result found = evaluate(module);
    EXPECT_NEAR(found.loss, expected.loss, 1e-12 * expected.loss) << name;
    size_t next = 0;
    for (const ir::Param& param : module.params)
      if (param.gradient != ir::ValueId::none) {
        expectNear(found.gradients[next], expected.gradients[next], 1e-11,
                   name + " " + param.name);
        ++next;
      }
  }
}

void expectDifferences(const Model& model) {
  ir::Module module = compile(model, oneRank);
  Result found = evaluate(module);
  constexpr double step = 1e-5;
  size_t next = 0;
  for (const ir::Param& param : module.params) {
    if (param.gradient == ir::ValueId::none)
      continue;
    const Array& gradient = found.gradients[next++];
    double scale = 1e-9;
    for (double each : gradient)
      scale = std::max(scale, std::abs(each));
    for (size_t i = 0; i < gradient.size(); i += 1 + gradient.size() / 6) {
      double losses[2];
      for (int side : {0, 1}) {
        Interpreter run(module);
        run.nudge(param.value, int64_t(i), side ? step : -step);
        run.run("forward");
        losses[side] = lossOf(run, module);
      }
      EXPECT_NEAR(gradient[i], (losses[1] - losses[0]) / (2 * step),
                  1e-6 * scale)
          << param.name << " at " << i;
    }
  }
}

} // namespace recipec::test
