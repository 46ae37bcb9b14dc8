// The backward of a Program computes the derivative of its loss, and every
// layout computes the same as one rank: see GradientChecks.h.

#include "runtime/ops/OpKind.h"
#include "test/compiler/passes/GradientChecks.h"
#include "test/compiler/passes/Interpreter.h"
#include "test/compiler/passes/RecipeWriter.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace recipec::passes {
namespace {

using test::Array;
using test::compile;
using test::expectDifferences;
using test::expectLayoutsAgree;
using test::expertLayouts;
using test::Interpreter;
using test::Model;
using test::oneRank;
using test::RecipeWriter;

// ---- models

recipe::Recipe plain(RecipeWriter writer) {
  return test::llama(writer, 2);
}

recipe::Recipe tied(RecipeWriter writer) {
  return test::llama(writer, 1, true);
}

recipe::Recipe lora(RecipeWriter writer) {
  writer.lora(2, 0.25, {"q", "k", "v", "o", "gate", "up", "down"});
  return test::llama(writer, 2);
}

recipe::Recipe loraWithoutDropout(RecipeWriter writer) {
  // Adapters of one input are joined.
  writer.lora(2, 0.0, {"q", "k", "v", "o", "up", "lm_head"});
  return test::llama(writer, 1);
}

/// Features that Llama lacks: norms of heads with a shared weight, dropout of
/// the residual stream, separate silu and mul, a value multiplied by itself, a
/// linear inside the residual stream, a scaled residual.
recipe::Recipe odd(RecipeWriter w) {
  auto vocab = w.dim("vocab", 32), hidden = w.dim("hidden", 8),
       heads = w.dim("heads", 4), kvHeads = w.dim("kv_heads", 4),
       width = w.dim("head_dim", 4), ffn = w.dim("ffn", 16);
  auto table = w.parameter("embed", {vocab, hidden});
  auto x = w.embedding(w.tokens(), table);
  x = w.scale(x, 3.0);
  auto weight = w.parameter("qk_norm", {width});
  auto q = w.norm("", w.linear("q", x, {hidden}, {heads, width}), weight);
  auto k = w.norm("", w.linear("k", x, {hidden}, {kvHeads, width}), weight);
  auto v = w.linear("v", x, {hidden}, {kvHeads, width});
  auto o = w.linear("o", w.attention(w.rope(q), w.rope(k), v), {heads, width},
                    {hidden});
  x = w.op("add", {w.scale(x, 0.5), w.dropout(o, 0.25)});
  auto inner = w.linear("inner", w.op("silu", {x}), {hidden}, {hidden});
  x = w.op("add", {x, inner});
  auto wide = w.linear("wide", x, {hidden}, {ffn});
  wide = w.op("add", {w.op("mul", {wide, wide}), w.op("silu", {wide})});
  wide = w.op("add", {wide, wide});
  x = w.op("add", {x, w.linear("narrow", wide, {ffn}, {hidden})});
  return w.finish(w.linear("", x, {hidden}, {vocab}, table));
}

/// One norm weight and one matrix for values of different layouts. Their
/// gradient is a partial sum for one reader and complete for another.
recipe::Recipe shared(RecipeWriter w) {
  auto vocab = w.dim("vocab", 32), heads = w.dim("heads", 4),
       width = w.dim("head_dim", 4);
  auto table = w.parameter("embed", {vocab, width});
  auto x = w.embedding(w.tokens(), table);
  auto weight = w.parameter("norm", {width});
  auto square = w.parameter("square", {width, width});
  x = w.norm("", x, weight);
  x = w.linear("", x, {width}, {width}, square);
  auto q = w.norm("", w.linear("q", x, {width}, {heads, width}), weight);
  q = w.linear("", q, {width}, {width}, square);
  x = w.op("add",
           {x, w.linear("o", w.attention(q, q, q), {heads, width}, {width})});
  return w.finish(w.linear("lm_head", x, {width}, {vocab}));
}

recipe::Value text(const char* value) {
  return {std::string(value), {}};
}

/// Features of GPT and Nemotron that Llama lacks: learned positions, norms with
/// means and biases, linears with biases on both sides of sharded dimensions,
/// their activations, and heads with partial rope.
recipe::Recipe gpt(RecipeWriter w) {
  auto vocab = w.dim("vocab", 32), hidden = w.dim("hidden", 8),
       heads = w.dim("heads", 4), width = w.dim("head_dim", 4),
       rows = w.dim("positions", 9), ffn = w.dim("ffn", 16);
  auto none = recipe::TensorId::none;
  auto table = w.parameter("embed", {vocab, hidden});
  auto places = w.parameter("places", {rows, hidden});
  auto x = w.op("add", {w.embedding(w.tokens(), table),
                        w.op("position_embedding", {w.tokens(), places})});
  auto n = w.layerNorm("input_norm", x);
  auto q = w.linear("q", n, {hidden}, {heads, width}, none, true);
  auto k = w.linear("k", n, {hidden}, {heads, width}, none, true);
  auto v = w.linear("v", n, {hidden}, {heads, width}, none, true);
  auto l2 = [&](recipe::TensorId heads) {
    return w.unary("l2norm", heads, {{"eps", {1e-5, {}}}});
  };
  q = w.unary("position_scale", l2(w.rope(q, 0.5)),
              {{"floor", {3.0, {}}}, {"scale", {0.4, {}}}});
  k = l2(w.rope(k, 1.0, true));
  auto a = w.attention(q, k, v);
  x = w.op("add", {x, w.linear("o", a, {heads, width}, {hidden}, none, true)});
  n = w.layerNorm("post_norm", x, false, true);
  auto up = w.linear("up", n, {hidden}, {ffn}, none, true);
  auto wide =
      w.op("add", {w.unary("gelu", up, {{"approximate", text("tanh")}}),
                   w.unary("gelu", up, {{"approximate", text("none")}})});
  wide = w.op("add", {wide, w.op("relu2", {up})});
  wide = w.op("mul", {wide, w.op("sigmoid", {up})});
  x = w.op("add", {x, w.linear("down", wide, {ffn}, {hidden}, none, true)});
  x = w.norm("norm", x, none, true);
  auto logits = w.linear("head", x, {hidden}, {vocab}, none, true);
  return w.finish(w.unary("softcap", logits, {{"cap", {0.7, {}}}}));
}

recipe::Recipe gptAdapted(RecipeWriter writer) {
  writer.lora(2, 0.25, {"q", "o", "up", "down"});
  return gpt(std::move(writer));
}

/// Attention with a window, with chunks, and with a softcap on scores.
recipe::Recipe bounded(RecipeWriter w) {
  auto vocab = w.dim("vocab", 32), hidden = w.dim("hidden", 8),
       heads = w.dim("heads", 4), width = w.dim("head_dim", 4);
  auto x = w.embedding(w.tokens(), w.parameter("embed", {vocab, hidden}));
  const RecipeWriter::AttentionBounds bounds[] = {
      {.window = 2}, {.chunk = 3, .softcap = 0.05}};
  for (size_t i = 0; i < 2; ++i) {
    std::string layer = std::to_string(i);
    auto n = w.norm("norm" + layer, x);
    auto q = w.rope(w.linear("q" + layer, n, {hidden}, {heads, width}));
    auto k = w.rope(w.linear("k" + layer, n, {hidden}, {heads, width}));
    auto v = w.linear("v" + layer, n, {hidden}, {heads, width});
    auto a = w.attention(q, k, v, bounds[i]);
    x = w.op("add", {x, w.linear("o" + layer, a, {heads, width}, {hidden})});
  }
  return w.finish(w.linear("lm_head", x, {hidden}, {vocab}));
}

/// Queries, keys and values are split and concatenated as in DeepSeek-V3: a
/// part of each has a position, all heads share that part of the keys, and
/// values are narrower than keys.
recipe::Recipe latent(RecipeWriter w) {
  auto vocab = w.dim("vocab", 32), hidden = w.dim("hidden", 8),
       heads = w.dim("heads", 4), width = w.dim("head_dim", 5),
       plain = w.dim("nope_dim", 3), turned = w.dim("rope_dim", 2),
       rank = w.dim("kv_rank", 4), pressed = w.dim("pressed_dim", 6),
       both = w.dim("kv_dim", 7), valueWidth = w.dim("v_dim", 4),
       ffn = w.dim("ffn", 8), pair = w.dim("gate_up_dim", 16);
  auto x = w.embedding(w.tokens(), w.parameter("embed", {vocab, hidden}));
  auto q = w.linear("q", x, {hidden}, {heads, width});
  q = w.concat(w.narrow(q, width, plain), w.rope(w.narrow(q, width, turned, 3)),
               width);
  auto p = w.linear("kv_down", x, {hidden}, {pressed});
  auto c = w.norm("kv_norm", w.narrow(p, pressed, rank));
  auto kv = w.linear("kv", c, {rank}, {heads, both});
  auto shared = w.broadcast(w.narrow(p, pressed, turned, 4), heads);
  auto k = w.concat(w.narrow(kv, both, plain), w.rope(shared), width);
  auto v = w.narrow(kv, both, valueWidth, 3);
  x = w.op("add", {x, w.linear("o", w.attention(q, k, v), {heads, valueWidth},
                               {hidden})});
  // Slices of a row that are sharded where they are multiplied.
  auto wide = w.linear("gate_up", x, {hidden}, {pair});
  wide = w.op("mul", {w.op("silu", {w.narrow(wide, pair, ffn)}),
                      w.narrow(wide, pair, ffn, 8)});
  wide = w.narrow(w.concat(wide, wide, pair), pair, ffn, 4);
  x = w.op("add", {x, w.linear("down", wide, {ffn}, {hidden})});
  return w.finish(w.linear("lm_head", x, {hidden}, {vocab}));
}

/// One norm's weight and biases, shared by the residual stream and the heads.
recipe::Recipe sharedNorm(RecipeWriter w) {
  auto vocab = w.dim("vocab", 32), heads = w.dim("heads", 4),
       width = w.dim("head_dim", 4);
  auto x = w.embedding(w.tokens(), w.parameter("embed", {vocab, width}));
  auto weight = w.parameter("norm", {width});
  x = w.layerNorm("outer", x, true, false, weight);
  auto q = w.linear("q", x, {width}, {heads, width});
  q = w.layerNorm("inner", q, true, false, weight);
  x = w.op("add",
           {x, w.linear("o", w.attention(q, q, q), {heads, width}, {width})});
  return w.finish(w.linear("lm_head", x, {width}, {vocab}));
}

using RouterSettings = RecipeWriter::RouterSettings;

/// A layer of experts without a gate, with an op on their outputs if one is
/// named.
recipe::Recipe plainExperts(RecipeWriter w, const char* opOnOutputs) {
  auto vocab = w.dim("vocab", 32), hidden = w.dim("hidden", 8),
       experts = w.dim("experts", 4), ffn = w.dim("expert_ffn", 8);
  auto x = w.embedding(w.tokens(), w.parameter("embed", {vocab, hidden}));
  auto n = w.norm("norm", x);
  auto r = w.router("router", n, hidden, experts, {.auxLoss = 0.5});
  auto h = w.expertLinear("up", w.dispatch(n, r), hidden, {ffn}, experts);
  auto y = w.expertLinear("down", w.op("silu", {h}), ffn, {hidden}, experts);
  if (opOnOutputs)
    y = w.op(opOnOutputs, {y});
  x = w.op("add", {x, w.combine(y, r)});
  return w.finish(w.linear("lm_head", x, {hidden}, {vocab}));
}

/// Layers of attention and a mixture of experts, as in Mixtral.
recipe::Recipe mixtral(RecipeWriter w, const RouterSettings& settings,
                       bool isStacked = false, bool weightsTokens = false) {
  auto vocab = w.dim("vocab", 32), hidden = w.dim("hidden", 8),
       heads = w.dim("heads", 4), width = w.dim("head_dim", 4),
       experts = w.dim("experts", 4), ffn = w.dim("expert_ffn", 8);
  auto x = w.embedding(w.tokens(), w.parameter("embed", {vocab, hidden}));
  auto q = w.linear("q", x, {hidden}, {heads, width});
  auto a = w.attention(w.rope(q), w.rope(q), q);
  x = w.op("add", {x, w.linear("o", a, {heads, width}, {hidden})});
  for (std::string layer : {"0.", "1."}) {
    auto n = w.norm(layer + "norm", x);
    auto r = w.router(layer + "router", n, hidden, experts, settings);
    auto e = w.dispatch(n, r, weightsTokens);
    auto gate =
        w.expertLinear(layer + "gate", e, hidden, {ffn}, experts, isStacked);
    auto up =
        w.expertLinear(layer + "up", e, hidden, {ffn}, experts, isStacked);
    auto y =
        w.expertLinear(layer + "down", w.op("mul", {w.op("silu", {gate}), up}),
                       ffn, {hidden}, experts, isStacked);
    x = w.op("add", {x, w.combine(y, r, !weightsTokens)});
  }
  return w.finish(w.linear("lm_head", x, {hidden}, {vocab}));
}

/// Experts with one weight for both inner parts, in the stacked order of Llama
/// 4 and in the usual one.
recipe::Recipe pairedExperts(RecipeWriter w) {
  auto vocab = w.dim("vocab", 32), hidden = w.dim("hidden", 8),
       experts = w.dim("experts", 4), pair = w.dim("gate_up", 2),
       ffn = w.dim("expert_ffn", 8);
  auto x = w.embedding(w.tokens(), w.parameter("embed", {vocab, hidden}));
  for (bool isStacked : {true, false}) {
    std::string layer = isStacked ? "0." : "1.";
    auto r = w.router(layer + "router", x, hidden, experts, {});
    auto e = w.dispatch(x, r, true);
    auto both = w.expertLinear(layer + "gate_up", e, hidden, {pair, ffn},
                               experts, isStacked);
    auto wide = w.op("mul", {w.op("silu", {w.select(both, pair, 0)}),
                             w.select(both, pair, 1)});
    auto y =
        w.expertLinear(layer + "down", wide, ffn, {hidden}, experts, isStacked);
    x = w.op("add", {x, w.combine(y, r, false)});
  }
  return w.finish(w.linear("lm_head", x, {hidden}, {vocab}));
}

/// Slices of dimensions that others follow. The others are sharded, as the
/// slices are where they are read, and a sliced dimension may be sharded where
/// it is made.
recipe::Recipe sliced(RecipeWriter w) {
  auto vocab = w.dim("vocab", 32), hidden = w.dim("hidden", 8),
       heads = w.dim("heads", 4), width = w.dim("head_dim", 4),
       few = w.dim("few_heads", 3), parts = w.dim("parts", 3),
       pair = w.dim("gate_up", 2), ffn = w.dim("ffn", 8);
  auto x = w.embedding(w.tokens(), w.parameter("embed", {vocab, hidden}));
  auto q = w.linear("q", x, {hidden}, {heads, width});
  auto a = w.narrow(w.attention(w.rope(q), q, q), heads, few, 1);
  x = w.op("add", {x, w.linear("o", a, {few, width}, {hidden})});
  x = w.op("add", {x, w.linear("o1", w.select(a, few, 2), {width}, {hidden})});
  auto all = w.linear("parts", x, {hidden}, {parts, ffn});
  auto last = w.narrow(all, parts, pair, 1);
  auto wide = w.op("mul", {w.op("silu", {w.select(last, pair, 1)}),
                           w.select(all, parts, 1)});
  x = w.op("add", {x, w.linear("down", wide, {ffn}, {hidden})});
  auto some = w.linear("some", all, {parts, ffn}, {hidden});
  return w.finish(
      w.linear("lm_head", w.op("add", {x, some}), {hidden}, {vocab}));
}

/// A layer of Mamba-2, one of attention, and another mixer with several chunks
/// per sequence and one head per group.
recipe::Recipe hybrid(RecipeWriter w) {
  auto vocab = w.dim("vocab", 32), hidden = w.dim("hidden", 8),
       heads = w.dim("heads", 4), width = w.dim("head_dim", 2),
       mambaHeads = w.dim("mamba_heads", 8), groups = w.dim("mamba_groups", 4),
       state = w.dim("state", 3);
  auto x = w.embedding(w.tokens(), w.parameter("embed", {vocab, hidden}));
  x = w.op("add", {x, w.mamba2("0.mixer", w.norm("0.norm", x), hidden,
                               {mambaHeads, width, groups, state})});
  auto q = w.linear("1.q", w.norm("1.norm", x), {hidden}, {heads, width});
  x = w.op("add", {x, w.linear("1.o", w.attention(q, q, q), {heads, width},
                               {hidden})});
  x = w.op("add", {x, w.mamba2("2.mixer", x, hidden,
                               {groups, width, groups, width, 9, 16})});
  return w.finish(w.linear("lm_head", x, {hidden}, {vocab}));
}

recipe::Recipe hybridAdapted(RecipeWriter writer) {
  writer.lora(2, 0.25, {"q", "out_proj"});
  return hybrid(std::move(writer));
}

/// A norm of heads with a separate weight for each head.
recipe::Recipe normOfHeads(RecipeWriter w) {
  auto vocab = w.dim("vocab", 32), heads = w.dim("heads", 4),
       width = w.dim("head_dim", 4);
  auto x = w.embedding(w.tokens(), w.parameter("embed", {vocab, width}));
  auto weight = w.parameter("norm", {heads, width});
  auto q = w.linear("q", x, {width}, {heads, width});
  auto k = w.layerNorm("k_norm", q, false, true, weight);
  q = w.norm("", q, weight);
  x = w.op("add",
           {x, w.linear("o", w.attention(q, k, q), {heads, width}, {width})});
  return w.finish(w.linear("lm_head", x, {width}, {vocab}));
}

TEST(Gradient, Llama) {
  expectDifferences(plain);
  expectLayoutsAgree(plain);
}

TEST(Gradient, TiedEmbeddings) {
  expectDifferences(tied);
  expectLayoutsAgree(tied);
}

TEST(Gradient, Lora) {
  expectDifferences(lora);
  expectLayoutsAgree(lora);
}

TEST(Gradient, LoraWithoutDropout) {
  expectDifferences(loraWithoutDropout);
  expectLayoutsAgree(loraWithoutDropout);
}

TEST(Gradient, OpsThatLlamaHasNot) {
  expectDifferences(odd);
  expectLayoutsAgree(odd);
}

TEST(Gradient, OpsOfGptAndNemotron) {
  expectDifferences(gpt);
  expectLayoutsAgree(gpt);
}

TEST(Gradient, AdaptersOfLinearsWithBiases) {
  expectDifferences(gptAdapted);
  expectLayoutsAgree(gptAdapted);
}

TEST(Gradient, AttentionWithinBounds) {
  expectDifferences(bounded);
  expectLayoutsAgree(bounded);
}

TEST(Gradient, RowsApartAndTogether) {
  expectDifferences(latent);
  expectLayoutsAgree(latent);
}

TEST(Gradient, SlicesOfADimensionThatOthersFollow) {
  expectDifferences(sliced);
  expectLayoutsAgree(sliced);
}

TEST(Gradient, StateSpaces) {
  expectDifferences(hybrid);
  expectLayoutsAgree(hybrid);
}

TEST(Gradient, AdaptersBesideStateSpaces) {
  expectDifferences(hybridAdapted);
  expectLayoutsAgree(hybridAdapted);
}

TEST(Gradient, ANormWithAWeightForEachHead) {
  expectDifferences(normOfHeads);
  expectLayoutsAgree(normOfHeads);
}

TEST(Gradient, ANormSharedByDifferentLayouts) {
  expectDifferences(sharedNorm);
  expectLayoutsAgree(sharedNorm);
}

TEST(Gradient, WeightsSharedByDifferentLayouts) {
  expectDifferences(shared);
  expectLayoutsAgree(shared);
}

TEST(Gradient, ExpertsWithLosses) {
  Model model = [](RecipeWriter w) {
    return mixtral(w, {.auxLoss = 0.5, .zLoss = 0.1});
  };
  expectDifferences(model);
  expectLayoutsAgree(model, expertLayouts);
}

TEST(Gradient, ExpertsWithCapacity) {
  Model model = [](RecipeWriter w) {
    return mixtral(w, {.capacity = 0.75, .auxLoss = 0.5});
  };
  expectDifferences(model);
  expectLayoutsAgree(model, expertLayouts);
}

int countOps(const ir::Module& module, ir::OpKind kind) {
  const std::vector<ir::Op>& ops = ir::findFunction(module, "backward")->ops;
  return int(std::ranges::count(ops, kind, &ir::Op::kind));
}

TEST(Gradient, GatesOfExpertsWithoutAGate) {
  Model model = [](RecipeWriter w) { return plainExperts(w, nullptr); };
  EXPECT_EQ(countOps(compile(model, oneRank), ir::OpKind::RowDots), 1);
  expectDifferences(model);
  expectLayoutsAgree(model, expertLayouts);
}

/// The op after the experts' last linear is not linear, so the gradient of the
/// gates reads the outputs of the experts.
TEST(Gradient, GatesOfExpertsThatEndInAnActivation) {
  Model model = [](RecipeWriter w) { return plainExperts(w, "silu"); };
  EXPECT_EQ(countOps(compile(model, oneRank), ir::OpKind::GatesBackward), 0);
  expectDifferences(model);
  expectLayoutsAgree(model, expertLayouts);
}

/// As in Llama 4: tokens are weighted before the experts.
TEST(Gradient, ExpertsOfOneWeightedChoice) {
  Model model = [](RecipeWriter w) {
    return mixtral(w, {.choices = 1, .isSigmoid = true}, true, true);
  };
  expectDifferences(model);
  expectLayoutsAgree(model, expertLayouts);
}

TEST(Gradient, ExpertsWithOneWeightForTwoParts) {
  expectDifferences(pairedExperts);
  expectLayoutsAgree(pairedExperts, expertLayouts);
  ir::Module module = compile(pairedExperts, {2, 1, false, 1, 2});
  for (const ir::Param& param : module.params)
    if (param.name.find("gate_up") != std::string::npos) {
      EXPECT_EQ(ir::localElements(module, param.value), 4 * 8 * 2 * 8 / 2);
    }
}

TEST(Gradient, EvaluateIsForwardWithoutDropout) {
  ir::Module module = compile(plain, {2, 2, true});
  Interpreter run(module);
  ir::ValueId loss = module.bindings.at("loss");
  run.run("forward");
  Array trained = run.whole(loss);
  run.clear(loss);
  run.run("evaluate");
  EXPECT_EQ(run.whole(loss), trained);

  module = compile(lora, {2, 2, true});
  for (const ir::Op& op : ir::findFunction(module, "evaluate")->ops)
    EXPECT_NE(op.kind, ir::OpKind::Dropout);
}

} // namespace
} // namespace recipec::passes
