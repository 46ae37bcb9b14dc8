// The backward function: where it ends, what it saves, its collectives, and
// what it leaves to `update`. GradientTest checks the values.

#include "compiler/passes/differentiate/Differentiate.h"
#include "compiler/ir/Verify.h"
#include "compiler/passes/build/Adapt.h"
#include "compiler/passes/build/Build.h"
#include "compiler/passes/differentiate/Accumulate.h"
#include "compiler/passes/fuse/Fuse.h"
#include "compiler/passes/fuse/Join.h"
#include "compiler/passes/inference/Evaluate.h"
#include "compiler/passes/shard/Shard.h"
#include "runtime/ops/OpTable.h"
#include "test/compiler/passes/RecipeWriter.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace recipec::passes {
namespace {

using test::RecipeWriter;

ir::Module differentiated(RecipeWriter writer, int layers = 2) {
  recipe::Recipe recipe = test::llama(writer, layers);
  diag::Engine engine;
  ir::Module module = build(recipe, trainingExtent(recipe), engine);
  adapt(module, recipe, engine);
  fuse(module);
  shard(module, layoutOf(recipe));
  differentiate(module);
  addEvaluate(module);
  EXPECT_EQ(ir::verify(module), std::vector<std::string>());
  return module;
}

RecipeWriter degrees(int64_t dp, int64_t tp, bool sequence) {
  RecipeWriter writer;
  writer.degrees(dp, tp, sequence);
  return writer;
}

std::map<std::string, int> counts(const ir::Module& module,
                                  const char* function) {
  std::map<std::string, int> result;
  for (const ir::Op& op : ir::findFunction(module, function)->ops)
    ++result[std::string(ops::opName(op.kind))];
  return result;
}

/// Parameters whose gradients are partial sums over tp.
std::vector<std::string> summed(const ir::Module& module) {
  std::vector<std::string> names;
  for (const ir::Param& param : module.params)
    if (param.gradient != ir::ValueId::none &&
        module[param.gradient].sharding.partial.contains(
            ir::findAxis(module, "tp")))
      names.push_back(param.name);
  return names;
}

bool isSaved(const ir::Module& module, const std::string& name) {
  for (const ir::Value& value : module.values)
    if (value.name == name)
      return value.kind == ir::ValueKind::saved;
  ADD_FAILURE() << "no value " << name;
  return false;
}

TEST(Differentiate, EveryMatrixHasOneMatmulForItsGradient) {
  auto found = counts(differentiated({}), "backward");
  EXPECT_EQ(found["linear_wgrad"], 2 * 7 + 1);
  EXPECT_EQ(found["linear_dgrad"], 2 * 7 + 1);
  EXPECT_EQ(found["rmsnorm_backward"], 2 * 2 + 1);
  EXPECT_EQ(found["embedding_backward"], 1);
  // The gradients of q, k, v and of gate, up accumulate in the matmuls, those
  // of the residual stream in the norms that read it.
  EXPECT_EQ(found["add"], 0);
}

TEST(Differentiate, FrozenParametersHaveNeitherGradientNorMatmul) {
  RecipeWriter writer;
  writer.lora(2, 0.0, {"v"});
  ir::Module module = differentiated(writer);
  for (const ir::Param& param : module.params)
    EXPECT_EQ(param.gradient != ir::ValueId::none, param.adapter);
  auto found = counts(module, "backward");
  EXPECT_EQ(found["linear_wgrad"], 2 * 2);
  EXPECT_EQ(found["embedding_backward"], 0);
}

// No trained parameter precedes the adapter of the first layer's `v`. So q, k
// and the first norm get no gradient.
TEST(Differentiate, TheBackwardEndsAtTheFirstTrainableParameter) {
  RecipeWriter writer;
  writer.lora(2, 0.0, {"v"});
  ir::Module module = differentiated(writer);
  const ir::Function& backward = *ir::findFunction(module, "backward");
  for (const ir::Op& op : backward.ops) {
    EXPECT_NE(op.name, "layers.0.input_norm");
    EXPECT_NE(op.name, "layers.0.q");
    EXPECT_NE(op.name, "layers.0.k");
  }
  EXPECT_EQ(backward.ops.back().name, "layers.0.v.lora_a");
}

TEST(Differentiate, WhatIsReadIsSaved) {
  ir::Module module = differentiated({});
  for (const char* name : {"layers.0.add", "layers.0.attention.lse",
                           "layers.0.v", "layers.0.gate", "norm", "lm_head"})
    EXPECT_TRUE(isSaved(module, name)) << name;
  for (const char* name : {"layers.0.q", "layers.0.o", "layers.0.down"})
    EXPECT_FALSE(isSaved(module, name)) << name;
}

TEST(Differentiate, NothingIsSavedForMatmulsThatAreNotTaken) {
  RecipeWriter writer;
  writer.lora(2, 0.0, {"v"});
  ir::Module module = differentiated(writer);
  for (const char* name : {"layers.1.post_norm", "layers.1.swiglu", "norm"})
    EXPECT_FALSE(isSaved(module, name)) << name;
}

// As many as in the forward. The backward gathers again, so a rank keeps only
// its shard.
TEST(Differentiate, CollectivesUnderSequenceParallelism) {
  ir::Module module = differentiated(degrees(1, 2, true));
  auto found = counts(module, "backward");
  EXPECT_EQ(found["reduce_scatter"], 2 * 2 + 1);
  EXPECT_EQ(found["all_gather"], 2 * (2 * 2 + 1));
  EXPECT_EQ(found["all_reduce"], 0);
  EXPECT_FALSE(isSaved(module, "layers.0.input_norm.all_gather"));
}

TEST(Differentiate, CollectivesWithoutSequenceParallelism) {
  ir::Module module = differentiated(degrees(1, 2, false));
  auto found = counts(module, "backward");
  EXPECT_EQ(found["all_reduce"], 2 * 2 + 1);
  EXPECT_EQ(found["all_gather"], 0);
  EXPECT_EQ(found["reduce_scatter"], 0);
}

// Norms read the sharded residual stream. Without sequence parallelism every
// rank has all of it.
TEST(Differentiate, GradientsThatAreSumsOverTensorParallelRanks) {
  EXPECT_EQ(
      summed(differentiated(degrees(2, 2, true), 1)),
      (std::vector<std::string>{"layers.0.input_norm.weight",
                                "layers.0.post_norm.weight", "norm.weight"}));
  EXPECT_EQ(summed(differentiated(degrees(2, 2, false), 1)),
            std::vector<std::string>());
}

TEST(Differentiate, AdapterGradientsThatAreSumsOverTensorParallelRanks) {
  RecipeWriter writer = degrees(2, 2, false);
  writer.lora(2, 0.0, {"q", "o"});
  EXPECT_EQ(summed(differentiated(writer, 1)),
            (std::vector<std::string>{"layers.0.q.lora_a.weight",
                                      "layers.0.o.lora_b.weight"}));
}

TEST(Differentiate, GradientsAreSumsOverDataParallelRanks) {
  ir::Module module = differentiated(degrees(2, 1, false), 1);
  ir::AxisSet dp(ir::findAxis(module, "dp"));
  for (const ir::Param& param : module.params)
    EXPECT_EQ(module[param.gradient].sharding.partial, dp) << param.name;
}

// y = W x + B A x: the matmul with B accumulates onto the one with W.
TEST(Accumulate, AdaptersNeedNoAdd) {
  RecipeWriter writer = degrees(1, 2, true);
  writer.lora(2, 0.1, {"q", "o", "gate"});
  ir::Module module = differentiated(writer);
  size_t adds = size_t(counts(module, "forward")["add"]);
  accumulate(module);
  EXPECT_EQ(ir::verify(module), std::vector<std::string>());
  EXPECT_EQ(counts(module, "forward")["add"], int(adds) - 2 * 3);
  EXPECT_EQ(counts(module, "evaluate")["add"], int(adds) - 2 * 3);
}

TEST(Accumulate, TheResidualStreamIsNotOverwritten) {
  ir::Module module = differentiated({});
  accumulate(module);
  EXPECT_EQ(ir::verify(module), std::vector<std::string>());
  EXPECT_EQ(counts(module, "forward")["add"], 0);
  EXPECT_EQ(counts(module, "forward")["linear_add"], 2 * 2);
  EXPECT_EQ(counts(module, "backward")["add"], 0);
}

// x + W a + B A a: the smaller matmul accumulates onto x, the other onto the
// sum.
TEST(Accumulate, TheResidualIsAddedToAnAdapter) {
  RecipeWriter writer;
  writer.lora(2, 0.1, {"o"});
  ir::Module module = differentiated(writer);
  accumulate(module);
  EXPECT_EQ(counts(module, "forward")["add"], 0);
  std::vector<std::string> names;
  for (const ir::Op& op : ir::findFunction(module, "forward")->ops)
    if (op.kind == ir::OpKind::LinearAdd && op.layer == 0)
      names.push_back(op.name);
  EXPECT_EQ(names,
            (std::vector<std::string>{"layers.0.o.lora_b", "layers.0.down"}));
}

// Adapters of q, k and v read one input and produce one gradient of it.
TEST(Join, AdaptersOfOneInput) {
  RecipeWriter writer;
  writer.lora(2, 0.0, {"q", "k", "v", "o"});
  ir::Module module = differentiated(writer);
  accumulate(module);
  join(module);
  EXPECT_EQ(ir::verify(module), std::vector<std::string>());
  EXPECT_EQ(counts(module, "forward")["linear_joint"], 2);
  EXPECT_EQ(counts(module, "backward")["linear_joint_wgrad"], 2);
  // No trained parameter precedes the first layer.
  EXPECT_EQ(counts(module, "backward")["linear_joint_dgrad"], 1);
  EXPECT_EQ(counts(module, "forward")["softmax_stats"], 1);
  EXPECT_EQ(counts(module, "forward")["softmax_sum"], 0);
}

} // namespace
} // namespace recipec::passes
