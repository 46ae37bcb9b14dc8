// Models that predict the token after the next one, and what is wrong with
// them.

#include "compiler/passes/build/Build.h"
#include "test/compiler/passes/GradientChecks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace recipec::passes {
namespace {

using recipe::TensorId;
using test::compile;
using test::expectDifferences;
using test::expectLayoutsAgree;
using test::Interpreter;
using test::RecipeWriter;

struct Parts {
  recipe::DimId vocab, hidden, joined;
  TensorId table, x, logits;
};

/// A model of one matmul, whose embedding is also its head.
Parts small(RecipeWriter& w) {
  Parts parts;
  parts.vocab = w.dim("vocab", 32);
  parts.hidden = w.dim("hidden", 8);
  parts.joined = w.dim("joined", 16);
  parts.table = w.parameter("embed", {parts.vocab, parts.hidden});
  parts.x =
      w.norm("norm", w.linear("inner", w.embedding(w.tokens(), parts.table),
                              {parts.hidden}, {parts.hidden}));
  parts.logits =
      w.linear("", parts.x, {parts.hidden}, {parts.vocab}, parts.table);
  return parts;
}

/// The logits of the token after the next one.
TensorId further(RecipeWriter& w, const Parts& parts) {
  TensorId next = w.embedding(w.op("next_tokens", {w.tokens()}), parts.table);
  TensorId both = w.concat(next, parts.x, parts.joined);
  TensorId y = w.linear("joined", both, {parts.joined}, {parts.hidden});
  return w.linear("", w.op("silu", {y}), {parts.hidden}, {parts.vocab},
                  parts.table);
}

recipe::Recipe predicting(RecipeWriter w) {
  const Parts parts = small(w);
  return w.finish(w.furtherLoss(parts.logits, further(w, parts), 0.5));
}

std::string complaint(const recipe::Recipe& recipe) {
  diag::Engine engine;
  build(recipe, trainingExtent(recipe), engine);
  return engine.all().empty() ? "" : engine.all().front().message;
}

TEST(FurtherTokens, Gradient) {
  expectDifferences(predicting);
  expectLayoutsAgree(predicting);
}

TEST(FurtherTokens, AreNotEvaluated) {
  const ir::Module module = compile(predicting, test::oneRank);
  const ir::Function& evaluate = *ir::findFunction(module, "evaluate");
  EXPECT_EQ(std::ranges::count(evaluate.ops, ir::OpKind::Nll, &ir::Op::kind),
            1);
  EXPECT_EQ(std::ranges::count(evaluate.ops, ir::OpKind::Concat, &ir::Op::kind),
            0);
  Interpreter run(module);
  const ir::ValueId loss = module.bindings.at("loss");
  run.run("forward");
  const test::Array trained = run.whole(loss);
  run.clear(loss);
  run.run("evaluate");
  EXPECT_EQ(run.whole(loss), trained);
}

TEST(FurtherTokens, AreNoPartOfAModelThatIsServed) {
  const recipe::Recipe recipe = predicting(RecipeWriter());
  Extent extent = trainingExtent(recipe);
  extent.loss = false;
  diag::Engine engine;
  const ir::Module module = build(recipe, extent, engine);
  EXPECT_TRUE(engine.all().empty());
  for (const ir::Param& param : module.params)
    EXPECT_NE(param.name, "joined.weight");
  EXPECT_FALSE(module.bindings.contains("labels"));
}

TEST(FurtherTokens, FailLogitsThatReadTheNextToken) {
  RecipeWriter w;
  const Parts parts = small(w);
  EXPECT_EQ(complaint(w.finish(further(w, parts))),
            "the logits of `forward` depend on the tokens that they predict");
}

TEST(FurtherTokens, FailOtherTokens) {
  RecipeWriter w;
  const Parts parts = small(w);
  const TensorId next = w.op("next_tokens", {parts.x});
  const TensorId logits = w.linear("", w.embedding(next, parts.table),
                                   {parts.hidden}, {parts.vocab}, parts.table);
  EXPECT_EQ(complaint(w.finish(w.furtherLoss(parts.logits, logits, 0.5))),
            "`next_tokens` takes the model's `tokens`, and `norm` is something "
            "else");
}

TEST(FurtherTokens, FailOtherDimensions) {
  RecipeWriter w;
  const Parts parts = small(w);
  EXPECT_EQ(complaint(w.finish(w.furtherLoss(parts.logits, parts.x, 0.5))),
            "`further_loss` takes logits of the same dimensions twice, and not "
            "[`batch`, `sequence`, `vocab`] and [`batch`, `sequence`, "
            "`hidden`]");
}

TEST(FurtherTokens, FailTwice) {
  RecipeWriter w;
  const Parts parts = small(w);
  const TensorId once = w.furtherLoss(parts.logits, further(w, parts), 0.5);
  EXPECT_EQ(complaint(w.finish(w.furtherLoss(once, further(w, parts), 0.5))),
            "this version does not support a second `further_loss`");
}

} // namespace
} // namespace recipec::passes
