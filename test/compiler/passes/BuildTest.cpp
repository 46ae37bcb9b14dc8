// Recipe → Graph: names, parameters, implicit inputs, and the messages about
// models whose dimensions do not fit.

#include "compiler/passes/build/Build.h"
#include "compiler/ir/Parse.h"
#include "compiler/ir/Print.h"
#include "compiler/ir/Verify.h"
#include "runtime/ops/OpKind.h"
#include "test/compiler/passes/RecipeWriter.h"

#include <gtest/gtest.h>

#include <cmath>

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

/// Token embeddings through a mixer of 6 heads of width 2 in 3 groups.
ir::Module builtMixer() {
  RecipeWriter w;
  auto vocab = w.dim("vocab", 32), hidden = w.dim("hidden", 16);
  auto x = w.embedding(w.tokens(), w.parameter("embed", {vocab, hidden}));
  RecipeWriter::Mamba mixer{w.dim("heads", 6), w.dim("head_dim", 2),
                            w.dim("groups", 3), w.dim("state", 5)};
  x = w.mamba2("mixer", x, hidden, mixer);
  return built(w.finish(w.linear("lm_head", x, {hidden}, {vocab})));
}

TEST(Build, AMixerIsSplitByGroups) {
  ir::Module module = builtMixer();
  const std::pair<const char*, const char*> types[] = {
      {"in_proj.z.weight", "f32[mamba_groups, mamba_channels, hidden]"},
      {"in_proj.b.weight", "f32[mamba_groups, mamba_state, hidden]"},
      {"in_proj.dt.weight", "f32[mamba_groups, mamba_group_heads, hidden]"},
      {"conv1d.c.weight", "f32[mamba_groups, mamba_state, mamba_kernel]"},
      {"conv1d.c.bias", "f32[mamba_groups, mamba_state]"},
      {"A_log", "f32[mamba_groups, mamba_group_heads]"},
      {"norm.weight", "f32[mamba_groups, mamba_channels]"},
      {"out_proj.weight", "f32[hidden, mamba_groups, mamba_channels]"}};
  for (const auto& [name, type] : types)
    EXPECT_EQ(ir::printType(
                  module, paramOf(module, "mixer." + std::string(name)).value),
              type);
  for (const ir::Op& op : module.functions[0].ops)
    if (op.kind == ir::OpKind::StateScan) {
      EXPECT_EQ(ir::printType(module, op.results[1]),
                "f32[batch, mamba_groups, mamba_chunks, mamba_channels, "
                "mamba_state]");
      EXPECT_EQ(ir::localShape(module, op.results[1]),
                (std::vector<int64_t>{2, 3, 3, 4, 5}));
    }
}

/// Hugging Face's in_proj holds z, (x, B, C) and dt, and its conv1d (x, B, C).
/// Here they have 12, 12, 15, 15 and 6 rows.
TEST(Build, AMixersParametersAreRowsOfHuggingFacesTensors) {
  ir::Module module = builtMixer();
  struct Rows {
    const char *name, *tensor;
    std::vector<int64_t> shape;
    int64_t first, of;
  };
  const Rows expected[] = {
      {"in_proj.z.weight", "in_proj.weight", {12, 16}, 0, 60},
      {"in_proj.x.weight", "in_proj.weight", {12, 16}, 12, 60},
      {"in_proj.b.weight", "in_proj.weight", {15, 16}, 24, 60},
      {"in_proj.c.weight", "in_proj.weight", {15, 16}, 39, 60},
      {"in_proj.dt.weight", "in_proj.weight", {6, 16}, 54, 60},
      {"conv1d.x.weight", "conv1d.weight", {12, 1, 3}, 0, 42},
      {"conv1d.b.weight", "conv1d.weight", {15, 1, 3}, 12, 42},
      {"conv1d.c.weight", "conv1d.weight", {15, 1, 3}, 27, 42},
      {"conv1d.x.bias", "conv1d.bias", {12}, 0, 42},
      {"conv1d.b.bias", "conv1d.bias", {15}, 12, 42},
      {"conv1d.c.bias", "conv1d.bias", {15}, 27, 42},
      {"dt_bias", "dt_bias", {6}, 0, 0},
      {"A_log", "A_log", {6}, 0, 0},
      {"D", "D", {6}, 0, 0},
      {"norm.weight", "norm.weight", {12}, 0, 0},
      {"out_proj.weight", "out_proj.weight", {16, 12}, 0, 0}};
  for (const Rows& rows : expected) {
    const ir::Param& param = paramOf(module, "mixer." + std::string(rows.name));
    EXPECT_EQ(param.hfName, "hf.mixer." + std::string(rows.tensor));
    EXPECT_EQ(param.hfShape, rows.shape) << param.name;
    EXPECT_EQ(param.hfFirst, rows.first) << param.name;
    EXPECT_EQ(param.hfRows, rows.of) << param.name;
  }
  EXPECT_EQ(module.params.size(), 2 + std::size(expected));
}

TEST(Build, AMixersParametersStartAsInItsPaper) {
  ir::Module module = builtMixer();
  const std::pair<const char*, const char*> kinds[] = {
      {"in_proj.dt.weight", "normal"}, {"conv1d.b.weight", "uniform"},
      {"conv1d.b.bias", "uniform"},    {"A_log", "decay_rates"},
      {"dt_bias", "time_steps"},       {"D", "ones"},
      {"norm.weight", "ones"},         {"out_proj.weight", "normal"}};
  for (const auto& [name, kind] : kinds) {
    const ir::Param& param = paramOf(module, "mixer." + std::string(name));
    EXPECT_EQ(param.init.kind, kind) << name;
    EXPECT_EQ(param.decay, std::string_view(kind) == "normal") << name;
  }
  EXPECT_DOUBLE_EQ(paramOf(module, "mixer.conv1d.x.bias").init.scale,
                   1 / std::sqrt(3.0));
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

/// The messages about a model of one op on the token embeddings.
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

TEST(BuildFails, AWeightWiderThanANormsOperand) {
  EXPECT_EQ(messagesOf([](auto& w, auto x, auto hidden, auto vocab) {
              auto weight = w.parameter("scale", {vocab, hidden});
              return w.norm("", x, weight);
            }),
            Messages{"the weight of `rmsnorm` has the last dimensions of its "
                     "operand, here [`hidden` = 16], and not [`vocab` = 32, "
                     "`hidden` = 16]"});
}

TEST(BuildFails, AParameterWhereDataIsDue) {
  EXPECT_EQ(messagesOf([](auto& w, auto, auto hidden, auto vocab) {
              auto table = w.parameter("other", {vocab, hidden});
              return w.op("silu", {table});
            }),
            Messages{"`silu` takes a computed tensor as `x`, and not a "
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
