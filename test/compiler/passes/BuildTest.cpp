// Recipe → Graph: names, parameters, implicit inputs, and the messages about
// models whose dimensions do not fit.

#include "compiler/passes/Build.h"
#include "compiler/ir/Parse.h"
#include "compiler/ir/Print.h"
#include "compiler/ir/Verify.h"
#include "test/compiler/passes/RecipeWriter.h"

#include <gtest/gtest.h>

namespace recipec::passes {
namespace {

using test::RecipeWriter;

ir::Module built(const recipe::Recipe& recipe) {
  diag::Engine engine;
  ir::Module module = build(recipe, trainingExtent(recipe), engine);
  for (const diag::Diagnostic& each : engine.all())
    ADD_FAILURE() << each.message;
  EXPECT_EQ(ir::verify(module), std::vector<std::string>());
  return module;
}

const ir::Param& paramOf(const ir::Module& module, const std::string& name) {
  for (const ir::Param& param : module.params)
    if (param.name == name)
      return param;
  ADD_FAILURE() << "no parameter " << name;
  return module.params.front();
}

std::vector<std::string> resultNames(const ir::Module& module) {
  std::vector<std::string> names;
  for (const ir::Op& op : module.functions[0].ops)
    names.push_back(module[op.results[0]].name);
  return names;
}

TEST(Build, OpsAreNamedAfterTheModel) {
  ir::Module module = built(test::llama({}, 1));
  std::vector<std::string> expected = {"embedding",
                                       "layers.0.input_norm",
                                       "layers.0.q",
                                       "layers.0.k",
                                       "layers.0.v",
                                       "layers.0.k.rope",
                                       "layers.0.q.rope",
                                       "layers.0.attention",
                                       "layers.0.o",
                                       "layers.0.add",
                                       "layers.0.post_norm",
                                       "layers.0.gate",
                                       "layers.0.up",
                                       "layers.0.gate.silu",
                                       "layers.0.mul",
                                       "layers.0.down",
                                       "layers.0.add.2",
                                       "norm",
                                       "lm_head",
                                       "loss.max",
                                       "loss.stats",
                                       "loss"};
  std::vector<std::string> names = resultNames(module);
  std::sort(names.begin(), names.end());
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(names, expected);
}

TEST(Build, ParametersHaveHuggingFaceNamesAndShapes) {
  ir::Module module = built(test::llama({}, 1));
  const ir::Param& q = paramOf(module, "layers.0.q.weight");
  EXPECT_EQ(q.hfName, "hf.layers.0.q.weight");
  EXPECT_EQ(q.hfShape, (std::vector<int64_t>{32, 16}));
  EXPECT_EQ(ir::printType(module, q.value), "f32[heads, head_dim, hidden]");
  EXPECT_TRUE(q.decay);
  EXPECT_EQ(q.init.kind, "normal");
  EXPECT_EQ(q.init.scale, 0.02);
  const ir::Param& o = paramOf(module, "layers.0.o.weight");
  EXPECT_EQ(o.hfShape, (std::vector<int64_t>{16, 32}));
  const ir::Param& norm = paramOf(module, "norm.weight");
  EXPECT_EQ(norm.hfShape, std::vector<int64_t>{16});
  EXPECT_EQ(norm.init.kind, "ones");
  EXPECT_FALSE(norm.decay);
}

TEST(Build, ATiedTableIsOneParameter) {
  ir::Module module = built(test::llama({}, 1, true));
  int tables = 0;
  for (const ir::Param& param : module.params)
    tables += module[param.value].dims.front() == ir::findDim(module, "vocab");
  EXPECT_EQ(tables, 1);
}

TEST(Build, InputsAreThoseThatOpsRead) {
  ir::Module module = built(test::llama({}, 1));
  for (const char* role : {"tokens", "labels", "weights", "positions",
                           "segments", "loss_scale", "loss"})
    EXPECT_TRUE(module.bindings.contains(role)) << role;
  EXPECT_FALSE(module.bindings.contains("samples"));
  EXPECT_FALSE(module.bindings.contains("logits"));
}

TEST(Build, WithoutALossTheLogitsAreBound) {
  recipe::Recipe recipe = test::llama({}, 1);
  diag::Engine engine;
  Extent extent;
  extent.sequence = 5;
  extent.loss = false;
  ir::Module module = build(recipe, extent, engine);
  EXPECT_EQ(ir::printType(module, module.bindings.at("logits")),
            "f32[batch, sequence, vocab]");
  EXPECT_FALSE(module.bindings.contains("labels"));
}

TEST(Build, TheMicroBatchIsThatOfAllDataParallelRanks) {
  RecipeWriter writer;
  writer.degrees(3, 1, false);
  ir::Module module = built(test::llama(writer, 1));
  EXPECT_EQ(module[ir::findDim(module, "batch")].size, 6);
  EXPECT_EQ(module[ir::findDim(module, "sequence")].size, 8);
}

TEST(Build, ADimensionCalledBatchIsNotTheBatch) {
  RecipeWriter w;
  auto vocab = w.dim("vocab", 32), batch = w.dim("batch", 16);
  auto x = w.embedding(w.tokens(), w.parameter("embed", {vocab, batch}));
  ir::Module module = built(w.finish(w.linear("lm_head", x, {batch}, {vocab})));
  EXPECT_EQ(module[ir::findDim(module, "batch")].size, 2);
  EXPECT_EQ(module[ir::findDim(module, "model.batch")].size, 16);
}

TEST(Build, GraphsPrintAndParse) {
  std::string text = ir::print(built(test::llama({}, 2, true)));
  std::string error;
  std::optional<ir::Module> again = ir::parse(text, error);
  ASSERT_TRUE(again) << error;
  EXPECT_EQ(ir::print(*again), text);
}

// ---- messages

/// The messages about a model of one op on the embedded tokens.
template <class Body> std::vector<std::string> messagesOf(Body body) {
  RecipeWriter w;
  auto vocab = w.dim("vocab", 32), hidden = w.dim("hidden", 16);
  auto x = w.embedding(w.tokens(), w.parameter("embed", {vocab, hidden}));
  recipe::TensorId output = body(w, x, hidden, vocab);
  recipe::Recipe recipe = w.finish(output);
  diag::Engine engine;
  build(recipe, trainingExtent(recipe), engine);
  std::vector<std::string> messages;
  for (const diag::Diagnostic& each : engine.all())
    messages.push_back(each.message);
  return messages;
}

using Messages = std::vector<std::string>;

TEST(BuildFails, OneNameOfTwoSizes) {
  EXPECT_EQ(messagesOf([](auto& w, auto x, auto, auto vocab) {
              auto narrow = w.dim("hidden", 15);
              return w.linear("lm_head", x, {narrow}, {vocab});
            }),
            Messages{"`hidden` is 16 here and 15 there"});
}

TEST(BuildFails, ContractionOfAnotherDimension) {
  EXPECT_EQ(messagesOf([](auto& w, auto x, auto, auto vocab) {
              auto ffn = w.dim("ffn", 16);
              return w.linear("lm_head", x, {ffn}, {vocab});
            }),
            Messages{"`linear` contracts the last dimensions of its operand, "
                     "here [`ffn` = 16], and not [`hidden` = 16]"});
}

TEST(BuildFails, OperandsOfDifferentShapes) {
  EXPECT_EQ(messagesOf([](auto& w, auto x, auto hidden, auto) {
              auto ffn = w.dim("ffn", 16);
              return w.op("add", {x, w.linear("up", x, {hidden}, {ffn})});
            }),
            Messages{"`add` takes two operands of one shape, here [`batch` = "
                     "2, `sequence` = 8, `hidden` = 16], and not [`batch` = 2, "
                     "`sequence` = 8, `ffn` = 16]"});
}

TEST(BuildFails, KeyHeadsThatDoNotDivideTheHeads) {
  EXPECT_EQ(messagesOf([](auto& w, auto x, auto hidden, auto vocab) {
              auto heads = w.dim("heads", 4), kv = w.dim("kv_heads", 3),
                   width = w.dim("head_dim", 4);
              auto q = w.linear("q", x, {hidden}, {heads, width});
              auto k = w.linear("k", x, {hidden}, {kv, width});
              auto a = w.attention(q, k, k);
              return w.linear("lm_head", a, {heads, width}, {vocab});
            }),
            Messages{"`kv_heads` = 3 does not divide `heads` = 4"});
}

TEST(BuildFails, OddWidthOfAHead) {
  EXPECT_EQ(messagesOf([](auto& w, auto x, auto hidden, auto vocab) {
              auto heads = w.dim("heads", 4), width = w.dim("head_dim", 5);
              auto q = w.rope(w.linear("q", x, {hidden}, {heads, width}));
              return w.linear("lm_head", q, {heads, width}, {vocab});
            }),
            Messages{"`rope` rotates pairs, and `head_dim` = 5 is odd"});
}

TEST(BuildFails, AParameterWhereDataIsDue) {
  EXPECT_EQ(messagesOf([](auto& w, auto, auto hidden, auto vocab) {
              auto table = w.parameter("other", {vocab, hidden});
              return w.op("silu", {table});
            }),
            Messages{"`silu` takes data here, and `other.weight` is a "
                     "parameter"});
}

TEST(BuildFails, DataWhereAParameterIsDue) {
  EXPECT_EQ(messagesOf([](auto& w, auto x, auto hidden, auto vocab) {
              return w.linear("lm_head", x, {hidden}, {vocab}, x);
            }),
            Messages{"the weight of `linear` is a parameter, and `embedding` "
                     "is computed"});
}

TEST(BuildFails, TokensAreNoNumbers) {
  EXPECT_EQ(messagesOf([](auto& w, auto, auto, auto) {
              return w.op("silu", {w.tokens()});
            }),
            Messages{"`silu` takes numbers, and `tokens` are ids"});
}

TEST(BuildFails, NumbersAreNoTokens) {
  EXPECT_EQ(messagesOf([](auto& w, auto x, auto hidden, auto vocab) {
              auto table = w.parameter("other", {vocab, hidden});
              return w.embedding(x, table);
            }),
            Messages{"`embedding` takes the tokens, and `embedding` is "
                     "computed"});
}

TEST(BuildFails, AWeightOfOtherDimensions) {
  EXPECT_EQ(messagesOf([](auto& w, auto x, auto hidden, auto vocab) {
              auto turned = w.parameter("turned", {hidden, vocab});
              return w.linear("lm_head", x, {hidden}, {vocab}, turned);
            }),
            Messages{"the weight `turned.weight` has dimensions [`hidden`, "
                     "`vocab`], and this `linear` takes [`vocab`, `hidden`]"});
}

TEST(BuildFails, LogitsThatAreNone) {
  EXPECT_EQ(messagesOf([](auto& w, auto x, auto hidden, auto vocab) {
              auto heads = w.dim("heads", 4), width = w.dim("head_dim", 4);
              (void)vocab;
              return w.linear("q", x, {hidden}, {heads, width});
            }),
            Messages{"`forward` returns logits [batch, sequence, vocabulary], "
                     "and not [`batch`, `sequence`, `heads`, `head_dim`]"});
}

} // namespace
} // namespace recipec::passes
