// The section `serving` of a plan: limits, buckets and the ops of steps are
// refused where they do not fit together.

#include "runtime/plan/Paths.h"
#include "runtime/plan/PlanJson.h"
#include "test/runtime/plan/SamplePlan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>

namespace reciperun::plan {
namespace {

constexpr int64_t heads = 2, keyHeads = 1, width = 4, vocab = 16;

std::string named(const char* role, int64_t tokens) {
  return std::string(role) + "_" + std::to_string(tokens);
}

/// What all steps share.
struct Shared {
  int pages, keyPages, valuePages, inputs, states;
};

int added(Plan& plan, const std::string& name, DType type,
          std::vector<int64_t> shape) {
  return addBuffer(plan, name.c_str(), type, std::move(shape));
}

/// Appends a step: attention, a convolution, a scan, and the rows of a result.
void addStep(Plan& plan, const Shared& shared, int64_t tokens) {
  Serving& serving = *plan.serving;
  Stage& stage = plan.stages[0];
  const int number = int(serving.buckets.size());
  const Bucket bucket{tokens, std::min(tokens, serving.maxBatch)};
  StageStep step;
  step.schedule = number;
  StepInputs& in = step.inputs;
  in.tokens = added(plan, named("tokens", tokens), DType::i32, {1, tokens});
  in.positions =
      added(plan, named("positions", tokens), DType::i32, {1, tokens});
  in.sequences =
      added(plan, named("sequences", tokens), DType::i32, {1, tokens});
  in.rows = added(plan, named("rows", tokens), DType::i32, {1, bucket.rows});
  in.draws =
      added(plan, named("draws", tokens), DType::f64, {1, bucket.rows, 5});
  in.pages = shared.pages;
  in.adapters = added(plan, named("adapters", tokens), DType::i32, {1, tokens});
  const DType T = DType::f32;
  int q = added(plan, named("q", tokens), T, {1, tokens, heads, width});
  int k = added(plan, named("k", tokens), T, {1, tokens, keyHeads, width});
  int x = added(plan, named("x", tokens), T, {1, tokens, 1, 6});
  int dt = added(plan, named("dt", tokens), T, {1, tokens, 1, 2});
  int b = added(plan, named("b", tokens), T, {1, tokens, 1, 3});
  int w = added(plan, named("w", tokens), T, {1, 6, 4});
  int a = added(plan, named("a", tokens), T, {1, 2});
  int y = added(plan, named("y", tokens), T, {1, tokens, vocab});
  int low = added(plan, named("low", tokens), T, {1, tokens, 4});
  int factor =
      added(plan, named("factor", tokens), T, {serving.adapters * 4, 6});
  step.logits =
      added(plan, named("logits", tokens), T, {1, bucket.rows, vocab});
  step.chosen =
      added(plan, named("chosen", tokens), DType::i32, {1, bucket.rows});
  stage.functions.push_back(
      {named("step", tokens),
       {makeOp(OpKind::AttentionPaged, "attention",
               {q, k, k, in.positions, in.sequences, in.pages},
               {q, shared.keyPages, shared.valuePages, -1, -1}),
        makeOp(OpKind::CausalConvStep, "conv",
               {x, w, in.positions, in.sequences}, {x, shared.inputs}),
        makeOp(OpKind::StateScanStep, "scan",
               {x, dt, b, b, a, a, a, in.positions, in.sequences},
               {x, shared.states}),
        makeOp(OpKind::AdapterLinear, "low", {x, factor, in.adapters}, {low}),
        makeOp(OpKind::TakeRows, "rows", {y, in.rows}, {step.logits}),
        makeOp(OpKind::Sample, "chosen", {step.logits, in.draws},
               {step.chosen})}});
  using Kind = ScheduleStep::Kind;
  stage.schedules.push_back(
      {named("step", tokens), {{Kind::load}, {Kind::run, number}}});
  stage.steps.push_back(step);
  serving.buckets.push_back(bucket);
}

/// Serves 2 sequences of 5 tokens, in steps of these tokens.
Plan servingPlan(const std::vector<int64_t>& steps = {1, 2, 4}) {
  Plan plan = planOfOneStage();
  plan.task = "serve";
  plan.device = "cpu";
  plan.data.vocab = vocab;
  Serving& serving = plan.serving.emplace();
  serving.maxBatch = 2;
  serving.maxInput = serving.maxOutput = serving.maxTokens = 5;
  serving.tokenBudget = steps.back();
  serving.adapters = 3;
  serving.page = 2;
  serving.pages = 4;
  serving.hasStates = true;
  serving.chunkedPrefill = true;
  const DType T = DType::f32;
  Shared shared;
  shared.pages = added(plan, "pages", DType::i32, {2, 3});
  shared.keyPages = added(plan, "k_pages", T, {4, 2, keyHeads, width});
  shared.valuePages = added(plan, "v_pages", T, {4, 2, keyHeads, width});
  shared.inputs = added(plan, "inputs", T, {2, 1, 6, 3});
  shared.states = added(plan, "states", T, {2, 1, 6, 3});
  for (int64_t tokens : steps)
    addStep(plan, shared, tokens);
  return plan;
}

std::string servingRefusal(const std::function<void(Plan&)>& edit) {
  Plan plan = servingPlan();
  edit(plan);
  return validate(plan).message();
}

void expectRefused(const std::function<void(Plan&)>& edit, const char* words) {
  const std::string message = servingRefusal(edit);
  EXPECT_NE(message.find(words), std::string::npos) << message;
}

Op& opOf(Plan& plan, OpKind kind, size_t function = 2) {
  for (Op& op : plan.stages[0].functions[function].ops)
    if (op.kind == kind)
      return op;
  ADD_FAILURE() << "no such op";
  return plan.stages[0].functions[function].ops[0];
}

std::vector<int64_t>& shapeOf(Plan& plan, int buffer) {
  return plan.stages[0].buffers[size_t(buffer)].shape;
}

TEST(ValidateServing, takesWhatFits) {
  EXPECT_EQ(servingRefusal([](Plan&) {}), "");
  EXPECT_EQ(servingRefusal([](Plan& p) { p.task = "generate"; }), "");
}

TEST(ValidateServing, survivesJson) {
  auto read = fromJson(toJson(servingPlan()));
  ASSERT_TRUE(read) << read.message();
  EXPECT_EQ(validate(*read).message(), "");
  EXPECT_EQ(toJson(*read), toJson(servingPlan()));
}

TEST(ValidateServing, checksTheRotationOfAttention) {
  auto rotate = [](const char* name, ops::AttributeValue value) {
    return [=](Plan& p) {
      ops::Attributes& attributes = opOf(p, OpKind::AttentionPaged).attributes;
      attributes["rope"] = true;
      attributes[name] = value;
    };
  };
  EXPECT_EQ(servingRefusal(rotate("theta", 500.0)), "");
  expectRefused(rotate("inverse", true), "rotates queries and keys backwards");
  expectRefused(rotate("rotated", int64_t(width + 2)), "rotates ");
  expectRefused(rotate("scaling", std::string("odd")), "scaling");
}

/// Keys and values that are stored in 8 bits, in a step that may compute tiles
/// of queries.
TEST(ValidateServing, checksTheWorkspaceOfPagesInEightBits) {
  Plan plan = servingPlan({1, 2, 4, 8, 16});
  Stage& stage = plan.stages[0];
  const int scales = added(plan, "scales", DType::f32, {4, 2, keyHeads});
  for (size_t function = 0; function < stage.functions.size(); ++function) {
    Op& op = opOf(plan, OpKind::AttentionPaged, function);
    for (int each : {op.inputs[0], op.inputs[1]})
      stage.buffers[size_t(each)].dtype = DType::bf16;
    for (size_t pages : {1, 2}) {
      stage.buffers[size_t(op.outputs[pages])].dtype = DType::f8e4m3;
      op.outputs[pages + 2] = scales;
    }
  }
  const std::string attention = "the plan is damaged: function `step_16`, op 0 "
                                "`attention` (attention_paged) ";
  const int64_t needed = 16 * keyHeads * width;
  EXPECT_EQ(validate(plan).message(), attention + "needs a workspace");
  Op& op = opOf(plan, OpKind::AttentionPaged, 4);
  op.workspace = added(plan, "workspace", DType::f32, {needed - 1});
  EXPECT_EQ(validate(plan).message(), attention + "wants a workspace of " +
                                          std::to_string(needed) +
                                          " elements, `workspace` is [" +
                                          std::to_string(needed - 1) + "] f32");
  stage.buffers[size_t(op.workspace)].shape = {needed};
  EXPECT_EQ(validate(plan).message(), "");
}

/// A page has the keys and values of 2 tokens.
TEST(ValidateServing, checksThePagesOnTheHost) {
  constexpr int64_t page = 2 * 2 * keyHeads * width * 4;
  auto keep = [](int64_t pages, int64_t bytes) {
    return [=](Plan& p) {
      p.serving->hasStates = false;
      p.serving->prefixCache = true;
      p.serving->hostPages = pages;
      p.stages[0].memory.offloaded = bytes;
    };
  };
  EXPECT_EQ(servingRefusal(keep(3, 3 * page)), "");
  expectRefused(keep(3, 2 * page), "bytes on the host for 3 pages of");
  expectRefused(keep(3, 4 * page), "bytes on the host for 3 pages of");
  expectRefused(keep(-1, 0), "pages on the host are below 0 or too many");
  expectRefused(
      [](Plan& p) {
        p.serving->prefixCache = false;
        p.serving->hostPages = 1;
      },
      "it keeps pages on the host, and reuses none");
}

TEST(ValidateServing, refusesOtherTasks) {
  expectRefused([](Plan& p) { p.task = "sft"; }, "it serves, and its task");
}

TEST(ValidateServing, refusesLimitsThatDisagree) {
  auto set = [](int64_t Serving::*limit, int64_t value) {
    return [=](Plan& p) { (*p.serving).*limit = value; };
  };
  expectRefused(set(&Serving::maxTokens, 0), "`max_tokens` = 0");
  expectRefused(set(&Serving::maxInput, 6), "`max_input` = 6");
  expectRefused(set(&Serving::maxOutput, 0), "`max_output` = 0");
  expectRefused(set(&Serving::tokenBudget, 0), "`token_budget` = 0");
  expectRefused([](Plan& p) { p.serving->chunkedPrefill = false; },
                "a prompt of 5 tokens does not fit in a step of 4");
}

TEST(ValidateServing, keepsADraftModel) {
  Plan plan = servingPlan();
  plan.draft = Draft{"models/small", "{}"};
  plan.stages[0].memory.draft = 7;
  plan.stages[0].memory.total = plan.stages[0].memory.arena + 7;
  auto read = fromJson(toJson(plan));
  ASSERT_TRUE(read && read->draft) << read.message();
  EXPECT_EQ(read->draft->path, "models/small");
  EXPECT_EQ(read->draft->plan, "{}");
  EXPECT_EQ(read->stages[0].memory.draft, 7);
  resolvePaths(*read, "recipes");
  EXPECT_EQ(read->draft->path, "recipes/models/small");
  expectRefused(
      [](Plan& p) {
        p.draft = Draft{"models/small", "{}"};
      },
      "it has a draft model and guesses no tokens");
}

TEST(ValidateServing, refusesADraftModelAboveTheTotal) {
  expectRefused(
      [](Plan& p) {
        MemoryTable& memory = p.stages[0].memory;
        memory.total = memory.arena + 7;
        memory.draft = 8;
      },
      "the draft model has 8 bytes beside the arena");
}

TEST(ValidateServing, refusesACacheBelowASequence) {
  expectRefused(
      [](Plan& p) {
        p.serving->pages = 2;
        for (const char* name : {"k_pages", "v_pages"})
          for (Buffer& buffer : p.stages[0].buffers)
            if (buffer.name == name)
              buffer.shape[0] = 2;
      },
      "its cache has 2 pages, and a sequence of 5 tokens needs 3");
}

TEST(ValidateServing, refusesToReusePagesBesideStates) {
  expectRefused([](Plan& p) { p.serving->prefixCache = true; },
                "it reuses pages of a model that has states");
}

TEST(ValidateServing, refusesBucketsOutOfOrder) {
  expectRefused([](Plan& p) { p.serving->buckets.clear(); }, "no buckets");
  expectRefused(
      [](Plan& p) { std::swap(p.serving->buckets[0], p.serving->buckets[1]); },
      "a bucket of 1 tokens follows one of 2");
  expectRefused([](Plan& p) { p.serving->buckets.pop_back(); },
                "its widest bucket is of 2 tokens");
}

TEST(ValidateServing, refusesBuffersOfAnotherSize) {
  expectRefused([](Plan& p) { p.stages[0].steps.pop_back(); },
                "a stage has 2 steps for 3 buckets");
  expectRefused([](Plan& p) { p.stages[0].steps[1].schedule = 7; },
                "the schedule of the bucket of 2 tokens is 7 of 3");
  expectRefused([](Plan& p) { p.serving->buckets[2].rows = 4; },
                "the number of rows of the bucket of 4 tokens is 4");
  expectRefused([](Plan& p) { p.stages[0].steps[1].inputs.tokens = -1; },
                "`tokens` of the bucket of 2 tokens is buffer -1");
  expectRefused(
      [](Plan& p) {
        std::vector<StageStep>& steps = p.stages[0].steps;
        steps[1].inputs.tokens = steps[2].inputs.tokens;
      },
      "of shape [1, 4] instead of [1, 2]");
  expectRefused([](Plan& p) { p.stages[0].steps[1].inputs.pages = -1; },
                "reads other inputs than the bucket's");
  expectRefused([](Plan& p) { p.stages[0].steps[1].logits = -1; },
                "the logits of the bucket of 2 tokens is buffer -1");
  expectRefused([](Plan& p) { p.data.vocab = 15; }, "the logits of the bucket");
}

TEST(ValidateServing, refusesOpsThatReadOtherInputs) {
  struct Read {
    OpKind kind;
    size_t operand;
  };
  for (Read read :
       {Read{OpKind::AttentionPaged, 4}, Read{OpKind::CausalConvStep, 3},
        Read{OpKind::StateScanStep, 8}})
    expectRefused(
        [&](Plan& p) {
          Op& op = opOf(p, read.kind);
          op.inputs[read.operand] = p.stages[0].steps[2].inputs.tokens;
        },
        "reads other inputs than the bucket's");
  expectRefused(
      [](Plan& p) {
        int other = addBuffer(p, "other", DType::i32, {1, 2});
        opOf(p, OpKind::TakeRows).inputs[1] = other;
      },
      "reads other inputs than the bucket's");
}

TEST(ValidateServing, refusesPagesOfAnotherShape) {
  auto pagesOf = [](Plan& p, size_t result) {
    return opOf(p, OpKind::AttentionPaged).outputs[result];
  };
  for (size_t dimension : {0, 1, 2, 3})
    expectRefused([&](Plan& p) { shapeOf(p, pagesOf(p, 1))[dimension] -= 1; },
                  dimension == 2 ? "dimension below 1"
                                 : "(attention_paged) wants");
  expectRefused([&](Plan& p) { p.serving->page = p.serving->pages = 0; },
                "needs pages, and the plan has none");
}

/// Stores the keys and values of the test's plan in `type`, with scales of
/// their rows.
void keepInEightBits(Plan& p, DType type) {
  std::vector<int64_t> rows;
  for (size_t side : {1, 2}) {
    Buffer& pages =
        p.stages[0]
            .buffers[size_t(opOf(p, OpKind::AttentionPaged).outputs[side])];
    pages.dtype = type;
    rows.assign(pages.shape.begin(), pages.shape.end() - 1);
  }
  const int scales[] = {addBuffer(p, "k_scales", DType::f32, rows),
                        addBuffer(p, "v_scales", DType::f32, rows)};
  for (Function& function : p.stages[0].functions)
    for (Op& op : function.ops)
      if (op.kind == OpKind::AttentionPaged)
        std::ranges::copy(scales, op.outputs.begin() + 3);
}

TEST(ValidateServing, takesPagesInEightBitsWithScales) {
  for (DType type : {DType::f8e4m3, DType::i8}) {
    Plan p = servingPlan();
    keepInEightBits(p, type);
    EXPECT_TRUE(validate(p).isOk()) << validate(p).message();
  }
}

TEST(ValidateServing, refusesPagesWithoutTheirScales) {
  auto expect = [](auto damage, const char* message) {
    expectRefused(
        [&](Plan& p) {
          keepInEightBits(p, DType::i8);
          damage(p, opOf(p, OpKind::AttentionPaged).outputs);
        },
        message);
  };
  expect([](Plan&, std::vector<int>& outputs) { outputs[4] = -1; },
         "has no scales for pages in 8 bits");
  expect([](Plan& p,
            std::vector<int>& outputs) { shapeOf(p, outputs[3])[2] += 1; },
         "(attention_paged) wants");
  expect(
      [](Plan& p, std::vector<int>& outputs) {
        p.stages[0].buffers[size_t(outputs[3])].dtype = DType::i32;
      },
      "of type i32");
  expect(
      [](Plan& p, std::vector<int>& outputs) {
        p.stages[0].buffers[size_t(outputs[2])].dtype = DType::f8e4m3;
      },
      "of type f8e4m3");
  expectRefused(
      [](Plan& p) {
        const int scales = addBuffer(p, "k_scales", DType::f32, {1});
        opOf(p, OpKind::AttentionPaged).outputs[3] = scales;
      },
      "has scales for pages in the compute type");
}

TEST(ValidateServing, refusesStatesOfAnotherShape) {
  for (OpKind kind : {OpKind::CausalConvStep, OpKind::StateScanStep})
    for (size_t dimension : {0, 2, 3})
      expectRefused(
          [&](Plan& p) {
            shapeOf(p, opOf(p, kind).outputs[1])[dimension] -= 1;
          },
          "wants [2, 1, 6, 3]");
  expectRefused([](Plan& p) { p.serving.reset(); }, "the plan has none");
}

TEST(ValidateServing, refusesTokensThatAreNotOneForEachRow) {
  auto added = [](Plan& p) {
    return addBuffer(p, "other", DType::i32, {1, 3});
  };
  expectRefused([&](Plan& p) { p.stages[0].steps[2].chosen = added(p); },
                "the chosen tokens of the bucket of 4 tokens is `other`");
  expectRefused([&](Plan& p) { opOf(p, OpKind::Sample).outputs[0] = added(p); },
                "(sample) wants 2 elements in `other`");
}

TEST(ValidateServing, refusesRowsOfAnotherWidth) {
  expectRefused(
      [](Plan& p) { shapeOf(p, opOf(p, OpKind::TakeRows).inputs[0])[2] = 15; },
      "(take_rows) wants [1, 2, 15]");
  expectRefused(
      [](Plan& p) { shapeOf(p, opOf(p, OpKind::TakeRows).inputs[0]) = {64}; },
      "takes rows of");
}

TEST(ValidateServing, refusesAdaptersOfAnotherNumber) {
  expectRefused([](Plan& p) { p.serving->adapters = -1; },
                "its `adapters` = -1 are below 0");
  expectRefused([](Plan& p) { p.serving->adapters = 0; },
                "(adapter_linear) reads adapters, and the plan serves none");
  expectRefused([](Plan& p) { p.serving->adapters = 5; },
                "the number of adapters");
  expectRefused(
      [](Plan& p) {
        shapeOf(p, opOf(p, OpKind::AdapterLinear).outputs[0])[2] = 3;
      },
      "(adapter_linear) wants 16 elements in `low_4`");
  expectRefused(
      [](Plan& p) {
        p.stages[0].steps[2].inputs.adapters =
            addBuffer(p, "other", DType::i32, {1, 3});
      },
      "`adapters` of the bucket of 4 tokens is `other`");
}

} // namespace
} // namespace reciperun::plan
