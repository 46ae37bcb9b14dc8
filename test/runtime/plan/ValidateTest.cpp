// Plans with values out of range are refused, each with its reason.

#include "runtime/ops/OpTable.h"
#include "runtime/plan/PlanJson.h"

#include "runtime/ops/OpKind.h"
#include "test/runtime/Says.h"
#include "test/runtime/plan/Refusal.h"

#include <gtest/gtest.h>

#include <limits>

namespace reciperun::plan {
namespace {

/// Turns the sample's data into a valid blend, for an edit to damage.
DataSource& blend(Plan& plan) {
  DataSource blend;
  blend.kind = "blend";
  blend.sources = {*plan.data.train, *plan.data.train};
  blend.weights = {2, 1};
  blend.epochs = {0, 1};
  blend.stopping = "all_exhausted";
  return plan.data.train.emplace(std::move(blend));
}

TEST(Validate, acceptsTheSample) {
  Status status = validate(samplePlan());
  EXPECT_TRUE(status.isOk()) << status.message();
}

TEST(Validate, acceptsABlend) {
  Plan plan = samplePlan();
  blend(plan);
  EXPECT_EQ(validate(plan).message(), "");
}

TEST(Validate, mesh) {
  EXPECT_REFUSED(p.mesh.ranks = 8, "make 4 ranks and the plan says 8");
  EXPECT_REFUSED(p.mesh.axes[0].size = 0, "axis `dp` has size 0");
  EXPECT_REFUSED(p.mesh.axes[1].name = "dp", "two axes `dp`");
  EXPECT_REFUSED(p.mesh.groups[0].axes = {"pp"}, "spans `pp`");
  EXPECT_REFUSED((p.mesh.axes = {{"a", 1 << 24}, {"b", 1 << 24}}),
                 "make 16777217 ranks");
}

TEST(Validate, buffersStayInTheArena) {
  EXPECT_REFUSED(p.stages[0].buffers[0].offset = p.stages[0].memory.arena,
                 "ends at byte");
  EXPECT_REFUSED(p.stages[0].buffers[0].offset = -bufferAlignment, "negative");
  EXPECT_REFUSED(p.stages[0].buffers[1].offset += 4, "not aligned");
  EXPECT_REFUSED(p.stages[0].buffers[0].shape = {0}, "below 1");
  EXPECT_REFUSED(
      (p.stages[0].buffers[0].shape = {int64_t(1) << 40, int64_t(1) << 40}),
      "2^63");
  EXPECT_REFUSED(p.stages[0].buffers[0].shardAxis = "pp", "no axis");
  EXPECT_REFUSED(
      (p.stages[0].buffers[0].shardAxis = "dp",
       p.stages[0].buffers[0].shardStride = p.stages[0].memory.arena),
      "ends at byte");
  // The second slot of a buffer at the end of the arena lies outside it.
  EXPECT_REFUSED((p.stages[0].buffers[0].slotStride = p.stages[0].memory.arena,
                  p.stages[0].buffers[0].slots = 2),
                 "ends at byte");
  EXPECT_REFUSED(p.stages[0].buffers[0].frame = 0, "in frame 0 of 0");
  EXPECT_REFUSED(p.stages[0].frames.resize(1), "has no offsets");
  EXPECT_REFUSED((p.stages[0].frames = {{{0, 4}}}), "has offset 4");
  EXPECT_REFUSED((p.stages[0].frames = {{{0, p.stages[0].memory.arena}}},
                  p.stages[0].buffers[0].frame = 0),
                 "ends at byte");
  EXPECT_REFUSED((p.stages[0].frames = {{{0}}},
                  p.stages[0].buffers[0].frame = 0,
                  p.stages[0].buffers[0].slots = 2,
                  p.stages[0].buffers[0].slotStride = bufferAlignment),
                 "in a frame and has slots");
  EXPECT_REFUSED(p.stages[0].memory.total = p.stages[0].memory.arena - 1,
                 "more than the total");
}

TEST(Validate, ops) {
  EXPECT_REFUSED(p.stages[0].functions[0].ops[0].inputs[1] = 99,
                 "names buffer 99 of");
  EXPECT_REFUSED(p.stages[0].functions[0].ops[0].inputs[1] = -1,
                 "names buffer -1");
  EXPECT_REFUSED(p.stages[0].functions[0].ops[0].inputs.pop_back(),
                 "has 1 inputs");
  EXPECT_REFUSED(p.stages[0].functions[0].ops[0].workspace = 99,
                 "names buffer 99");
  EXPECT_REFUSED((p.stages[0].buffers[7].shape = {1, 8, 5}),
                 "function `forward`, op 0 `layer` (linear) wants 48 elements");
  EXPECT_REFUSED(p.stages[0].buffers[7].dtype = DType::bf16,
                 "does not take `y`");
  EXPECT_REFUSED(p.stages[0].functions[0].ops[1].group = 2, "needs a group");
  EXPECT_REFUSED(p.stages[0].functions[0].ops[1].attributes.clear(),
                 "neither `sum`");
  EXPECT_REFUSED(p.stages[0].buffers[11].shape = {11}, "op 0 `update` (adamw)");
}

TEST(Validate, attributes) {
  auto attributes = [](Plan & p) -> auto& {
    return p.stages[0].functions[0].ops[0].attributes;
  };
  EXPECT_REFUSED((attributes(p) = {{"alpha", std::string("2")}}),
                 "has an attribute `alpha` that is no real");
  EXPECT_REFUSED((attributes(p) = {{"accumulate", int64_t(1)}}),
                 "has an attribute `accumulate` that is no flag");
  EXPECT_REFUSED((attributes(p) = {{"alhpa", 2.0}}),
                 "has the unknown attribute `alhpa`");
  EXPECT_REFUSED((attributes(p) = {{"exact", true}}),
                 "has the unknown attribute `exact`"); // of gelu
  EXPECT_EQ(refusal([&](Plan& p) {
              attributes(p) = {{"alpha", int64_t(2)}};
            }),
            "");
}

TEST(Validate, gathersAndSlices) {
  auto gather = [](Plan& p, int64_t dim, std::vector<int64_t> shape) {
    int whole = addBuffer(p, "whole", DType::f32, std::move(shape));
    Op op = makeOp(OpKind::AllGather, "gather", {6}, {whole});
    op.group = 0;
    op.attributes = {{"dim", dim}};
    p.stages[0].functions[0].ops = {op};
  };
  EXPECT_EQ(refusal([&](Plan& p) { gather(p, 1, {1, 16, 4}); }), "");
  EXPECT_PRED2(says, refusal([&](Plan& p) {
                 gather(p, 2, {1, 16, 4});
               }),
               "wants [1, 8, 8] f32 in `whole`");
  EXPECT_PRED2(says, refusal([&](Plan& p) {
                 gather(p, 3, {1, 16, 4});
               }),
               "has `dim` = 3");
  EXPECT_PRED2(says, refusal([&](Plan& p) {
                 gather(p, -1, {1, 16, 4});
               }),
               "has `dim` = -1");
}

/// The message for one op instead of the sample's functions, over buffers of
/// these types.
std::string refusalOfOp(OpKind kind, std::vector<int> inputs,
                        std::vector<int> outputs,
                        const std::vector<Buffer>& buffers) {
  return refusal([&](Plan& p) {
    int first = int(p.stages[0].buffers.size());
    for (const Buffer& buffer : buffers)
      addBuffer(p, "operand", buffer.dtype, buffer.shape);
    for (std::vector<int>* list : {&inputs, &outputs})
      for (int& number : *list)
        number += first;
    p.stages[0].functions[0].ops = {makeOp(kind, "op", inputs, outputs)};
  });
}

Buffer operand(DType type, std::vector<int64_t> shape) {
  Buffer buffer;
  buffer.dtype = type;
  buffer.shape = std::move(shape);
  return buffer;
}

TEST(Validate, kernelsReadTypesThatAreAsWideAsTheyThink) {
  Buffer tokens = operand(DType::i32, {1, 8});
  Buffer table = operand(DType::f32, {16, 4}),
         rows = operand(DType::f32, {8, 4});
  EXPECT_EQ(refusalOfOp(OpKind::Embedding, {0, 1}, {2}, {tokens, table, rows}),
            "");
  rows.dtype = DType::f64;
  EXPECT_NE(refusalOfOp(OpKind::Embedding, {0, 1}, {2}, {tokens, table, rows}),
            "");
  EXPECT_NE(refusalOfOp(OpKind::EmbeddingBackward, {0, 1}, {2},
                        {tokens, rows, table}),
            "");
  // Softmax sums over f64 logits are f64.
  Buffer logits = operand(DType::f64, {8, 4}),
         largest = operand(DType::f32, {8});
  EXPECT_PRED2(says,
               refusalOfOp(OpKind::SoftmaxMax, {0}, {1}, {logits, largest}),
               "(softmax_max) does not take `operand` of type f32");
  largest.dtype = DType::f64;
  EXPECT_EQ(refusalOfOp(OpKind::SoftmaxMax, {0}, {1}, {logits, largest}), "");
}

TEST(Validate, gradientsMayBeAsNarrowAsTheirOperands) {
  auto refused = [](DType type, DType gradient) {
    return refusalOfOp(OpKind::LinearWgrad, {0, 1}, {2},
                       {operand(type, {8, 4}), operand(type, {8, 6}),
                        operand(gradient, {6, 4})});
  };
  EXPECT_EQ(refused(DType::bf16, DType::bf16), "");
  EXPECT_EQ(refused(DType::bf16, DType::f32), "");
  EXPECT_PRED2(says, refused(DType::f32, DType::bf16),
               "does not take `operand` of type bf16");
  EXPECT_PRED2(says, refused(DType::f64, DType::f32),
               "does not take `operand` of type f32");
}

TEST(Validate, narrowGradientsOfExpertsHaveAWorkspace) {
  EXPECT_NE(refusalOfOp(OpKind::ExpertLinearWgrad, {0, 1, 2}, {3},
                        {operand(DType::bf16, {2, 8, 4}),
                         operand(DType::bf16, {2, 8, 6}),
                         operand(DType::i32, {2, 1, 1}),
                         operand(DType::bf16, {2, 6, 4})})
                .find("needs a workspace"),
            std::string::npos);
}

TEST(Validate, ringsAreExpandedBefore) {
  const Buffer q = operand(DType::f32, {1, 4, 2, 8});
  const Buffer tokens = operand(DType::i32, {1, 4});
  EXPECT_NE(refusalOfOp(OpKind::RingAttention, {0, 0, 0, 1, 1}, {2, 3},
                        {q, tokens, q, operand(DType::f32, {1, 2, 4})})
                .find("is no op of a plan"),
            std::string::npos);
}

/// The message for an optimizer step with a gradient, a parameter, its master
/// and a moment of these types. `number` is the master's buffer; the
/// parameter's is 4.
std::string refusalOfStep(DType gradient, DType param, DType master,
                          DType moment, int number = 5) {
  std::vector<Buffer> buffers;
  for (DType type : {gradient, DType::f64, DType::f32, DType::i32, param,
                     master, moment, moment})
    buffers.push_back(operand(type, {8}));
  for (size_t scalar : {1, 2, 3})
    buffers[scalar].shape = {1};
  return refusalOfOp(OpKind::AdamW, {0, 1, 2, 3}, {4, number, 6, 7}, buffers);
}

TEST(Validate, stepsReadTheTypesThatStateIsKeptIn) {
  using enum DType;
  for (DType gradient : {f32, bf16})
    for (DType moment : {f32, bf16}) {
      EXPECT_EQ(refusalOfStep(gradient, bf16, f32, moment), "");
      EXPECT_EQ(refusalOfStep(gradient, bf16, u16, moment), "");
      EXPECT_EQ(refusalOfStep(gradient, bf16, bf16, moment, 4), "");
      EXPECT_PRED2(says, refusalOfStep(gradient, bf16, bf16, moment),
                   "has a master in bf16 that is not its parameter");
      EXPECT_EQ(refusalOfStep(gradient, f32, f32, moment), "");
      EXPECT_PRED2(says, refusalOfStep(gradient, f32, u16, moment),
                   "does not take `operand` of type u16");
      EXPECT_PRED2(says, refusalOfStep(gradient, f32, bf16, moment),
                   "does not take `operand` of type bf16");
      EXPECT_PRED2(says, refusalOfStep(gradient, f64, f64, moment),
                   "does not take `operand` of type ");
    }
  EXPECT_EQ(refusalOfStep(f64, f64, f64, f64), "");
  EXPECT_PRED2(says, refusalOfStep(f64, bf16, f32, f32),
               "does not take `operand` of type f64");
  EXPECT_PRED2(says, refusalOfStep(f32, bf16, f32, u16),
               "does not take `operand` of type u16");
}

TEST(Validate, copiesGoFromOneMemoryToTheOther) {
  auto refusalOfCopy = [](OpKind kind, bool from, bool to, int64_t bytes) {
    return refusal([&](Plan& p) {
      int first = int(p.stages[0].buffers.size());
      p.stages[0].memory.offloaded = bytes;
      for (bool host : {from, to}) {
        p.stages[0].buffers.push_back(operand(DType::f32, {8}));
        p.stages[0].buffers.back().host = host;
      }
      p.stages[0].functions[0].ops = {makeOp(kind, "op", {first}, {first + 1})};
    });
  };
  EXPECT_EQ(refusalOfCopy(OpKind::CopyBegin, false, true, 64), "");
  EXPECT_EQ(refusalOfCopy(OpKind::CopyEnd, true, false, 64), "");
  EXPECT_NE(refusalOfCopy(OpKind::CopyBegin, false, false, 64)
                .find("lie in one memory"),
            std::string::npos);
  EXPECT_NE(refusalOfCopy(OpKind::CopyBegin, false, true, 0)
                .find("ends at byte 32 of an arena of 0"),
            std::string::npos);
  EXPECT_NE(refusalOfCopy(OpKind::Silu, false, true, 64)
                .find("which waits on the host"),
            std::string::npos);
}

TEST(Validate, anOutputThatMayBeAbsentHasItsPlace) {
  Buffer rows = operand(DType::f32, {8, 4}), weight = operand(DType::f32, {4});
  Buffer rstd = operand(DType::f32, {8});
  auto refusalWith = [&](std::vector<int> outputs) {
    return refusal([&](Plan& p) {
      int first = int(p.stages[0].buffers.size());
      for (const Buffer& buffer : {rows, weight, rstd, weight})
        addBuffer(p, "operand", buffer.dtype, buffer.shape);
      for (int& number : outputs)
        number += number < 0 ? 0 : first;
      p.stages[0].functions[0].ops = {
          makeOp(OpKind::RmsNormBackward, "op",
                 {first, first, first + 1, first + 2}, outputs)};
    });
  };
  EXPECT_EQ(refusalWith({0, 3}), "");
  EXPECT_EQ(refusalWith({0, -1}), "");
  EXPECT_NE(refusalWith({0}).find("and 1 outputs, not 4 and 2"),
            std::string::npos);
}

TEST(Validate, sizesThatLeave64Bits) {
  // Two operands whose dimensions multiply to 2^64.
  auto widen = [](Plan& p) {
    p.stages[0].memory.arena = p.stages[0].memory.total =
        std::numeric_limits<int64_t>::max();
  };
  EXPECT_NE(refusal([&](Plan& p) {
              widen(p);
              p.stages[0].buffers[0].shape = {int64_t(1) << 32};
              p.stages[0].buffers[8].shape = {int64_t(1) << 32, 1};
              p.stages[0].functions[0].ops = {
                  makeOp(OpKind::Linear, "op", {6, 8}, {7})};
              p.stages[0].buffers[6].shape = {int64_t(1) << 32};
            }).find("more than 2^63 elements"),
            std::string::npos);
  EXPECT_NE(refusal([&](Plan& p) {
              p.data.sequence = std::numeric_limits<int64_t>::max();
              p.train.microBatch = 4;
            }).find("more than 2^63 tokens"),
            std::string::npos);
  EXPECT_REFUSED(p.train.accumulation = std::numeric_limits<int64_t>::max(),
                 "global batch 2 is not");
}

TEST(Validate, attributesThatKernelsKnow) {
  EXPECT_REFUSED(
      (addBuffer(p, "heads", DType::f32, {1, 8, 1, 2}),
       p.stages[0].functions[0].ops = {makeOp(OpKind::Rope, "rope", {15 + 1, 0},
                                              {15 + 1})},
       p.stages[0].functions[0].ops[0].attributes = {{"scaling",
                                                      std::string("ntk")}}),
      "has `scaling` = `ntk`, which is not known");
  EXPECT_REFUSED((addBuffer(p, "samples", DType::i64, {1}),
                  p.stages[0].functions[0].ops = {makeOp(
                      OpKind::Dropout, "drop", {6, 16, 0}, {6})},
                  p.stages[0].functions[0].ops[0].attributes =
                      {{"axes", std::vector<std::string>{"dp"}}}),
                 "has 1 `axes` for 3 dimensions");
}

TEST(Validate, partsOfRows) {
  auto refusalWith = [](OpKind kind, std::vector<std::vector<int64_t>> shapes,
                        int64_t begin = 0, int64_t behind = 0) {
    return refusal([&](Plan& p) {
      std::vector<int> operands;
      for (std::vector<int64_t>& shape : shapes)
        operands.push_back(
            addBuffer(p, "operand", DType::f32, std::move(shape)));
      int result = operands.back();
      operands.pop_back();
      p.stages[0].functions[0].ops = {makeOp(kind, "op", operands, {result})};
      if (ops::findAttribute(kind, "begin"))
        p.stages[0].functions[0].ops[0].attributes = {{"begin", begin},
                                                      {"behind", behind}};
    });
  };
  using Shapes = std::vector<std::vector<int64_t>>;
  auto expectRefused = [&](OpKind kind, Shapes shapes, int64_t begin,
                           const char* words) {
    std::string message = refusalWith(kind, std::move(shapes), begin);
    EXPECT_NE(message.find(words), std::string::npos) << message;
  };
  EXPECT_EQ(refusalWith(OpKind::Narrow, {{2, 7}, {2, 3}}, 4), "");
  EXPECT_EQ(refusalWith(OpKind::Pad, {{2, 3}, {2, 7}}, 4), "");
  EXPECT_EQ(refusalWith(OpKind::Concat, {{2, 3}, {2, 4}, {2, 7}}), "");
  EXPECT_EQ(refusalWith(OpKind::Broadcast, {{2, 3}, {2, 5, 3}}), "");
  EXPECT_EQ(refusalWith(OpKind::BroadcastBackward, {{2, 5, 3}, {2, 3}}), "");
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  for (int64_t begin : {int64_t(-1), int64_t(5), most}) {
    expectRefused(OpKind::Narrow, {{2, 7}, {2, 3}}, begin, "in rows of 7");
    expectRefused(OpKind::Pad, {{2, 3}, {2, 7}}, begin, "in rows of 7");
  }
  expectRefused(OpKind::Narrow, {{2, 7}, {3, 3}}, 4, "wants 6 elements");
  EXPECT_EQ(refusalWith(OpKind::Narrow, {{2, 7, 5}, {2, 3, 5}}, 4, 1), "");
  EXPECT_EQ(refusalWith(OpKind::Narrow, {{2, 7, 5}, {2, 5}}, 6, 1), "");
  EXPECT_EQ(refusalWith(OpKind::Pad, {{2, 5}, {2, 7, 5}}, 6, 1), "");
  for (int64_t behind : {int64_t(-1), int64_t(3), most})
    EXPECT_NE(refusalWith(OpKind::Narrow, {{2, 7, 5}, {2, 5}}, 0, behind)
                  .find("`behind` = " + std::to_string(behind)),
              std::string::npos);
  EXPECT_NE(refusalWith(OpKind::Narrow, {{2, 7, 5}, {2, 3, 5}}, 5, 1)
                .find("takes 3 elements from 5 on in rows of 7"),
            std::string::npos);
  EXPECT_NE(refusalWith(OpKind::Narrow, {{2, 7, 5}, {2, 4}}, 0, 1)
                .find("wants 10 elements"),
            std::string::npos);
  expectRefused(OpKind::Concat, {{2, 3}, {2, 3}, {2, 7}}, 0, "makes rows of 7");
  expectRefused(OpKind::Concat, {{2, 3}, {3, 4}, {2, 7}}, 0,
                "wants 8 elements");
  expectRefused(OpKind::Broadcast, {{2, 3}, {3, 2, 3}}, 0, "wants [3, 3]");
  expectRefused(OpKind::Broadcast, {{3}, {3}}, 0, "wants copies of rows");
  expectRefused(OpKind::BroadcastBackward, {{2, 5, 3}, {2, 5}}, 0,
                "wants [2, 3]");
}

TEST(Validate, schedules) {
  EXPECT_REFUSED(p.stages[0].buffers[0].slots = 0, "0 slots");
  EXPECT_REFUSED(p.stages[0].buffers[0].slots = 2, "2 slots, 0 bytes apart");
  EXPECT_REFUSED(p.stages[0].schedules[0].steps.erase(
                     p.stages[0].schedules[0].steps.begin()),
                 "no schedule `train`");
  EXPECT_REFUSED(p.stages[0].schedules[0].steps[1].function = 2,
                 "runs function 2 of 2");
  EXPECT_REFUSED(p.stages[0].schedules[0].steps[1].microBatch = 1,
                 "micro-batch 1 of 1");
  EXPECT_REFUSED(
      (p.stages[0].schedules[0].steps[1].kind = ScheduleStep::Kind::wait,
       p.stages[0].schedules[0].steps[1].transfer = 0),
      "transfer 0 of 0");
  EXPECT_REFUSED(p.stages[0].transfers = {Transfer{}}, "buffer -1");
  EXPECT_REFUSED(
      (p.stages[0].transfers = {Transfer{Transfer::Kind::send, 0, 1, 0}}),
      "stage 1 of 1");
  EXPECT_REFUSED(p.stages[0].holdings[0].parameter = 1, "parameter 1 of 1");
}

TEST(Validate, parametersAndRegions) {
  EXPECT_REFUSED((p.parameters[0].globalShape = {13, 4}), "dimension 13");
  EXPECT_REFUSED(p.parameters[0].shardAxes.pop_back(), "shard axes");
  EXPECT_REFUSED(p.stages[0].holdings[0].value = 0, "of another type");
  EXPECT_REFUSED(p.stages[0].holdings[0].gradient = 6, "instead of 24");
  EXPECT_REFUSED((p.parameters[0].hfShape = {12, 5}), "external shape");
  EXPECT_REFUSED(p.parameters[0].loraA = 1, "names parameter 1 of 1");
  EXPECT_REFUSED(p.parameters[0].init.kind = "gaussian", "not known");
  EXPECT_REFUSED(p.parameters[0].loraA = 0, "names parameter -1 of 1");
  EXPECT_REFUSED((p.parameters[0].loraA = p.parameters[0].loraB = 0),
                 "LoRA factors");
  EXPECT_REFUSED(p.stages[0].regions[0].elements = 23,
                 "23 elements over 2 ranks");
  EXPECT_REFUSED(p.stages[0].regions[0].parameters = {1},
                 "names parameter 1 of 1");
  EXPECT_REFUSED(p.stages[0].regions[0].shardAxis = "pp", "no axis");
  EXPECT_REFUSED(p.stages[0].regions[0].momentM = 0, "of another type");
  EXPECT_REFUSED(p.stages[0].regions[0].momentV = p.stages[0].regions[0].param,
                 "instead of 12");
}

TEST(Validate, regionsInParts) {
  auto divide = [](Plan& p) {
    p.stages[0].regions[0].param = p.stages[0].holdings[0].value = -1;
  };
  EXPECT_EQ(refusal(divide), "");
  EXPECT_REFUSED(p.stages[0].holdings[0].value = -1, "the value of parameter");
  EXPECT_REFUSED(p.stages[0].regions[0].param = -1,
                 "does not hold `layer.weight`");
  EXPECT_REFUSED(p.stages[0].regions[0].part = -1,
                 "the rank's values of region");
  EXPECT_REFUSED(p.stages[0].regions[0].starts.clear(),
                 "1 parameters and 0 places");
  EXPECT_REFUSED(p.stages[0].regions[0].starts = {1},
                 "does not hold `layer.weight`");
  EXPECT_REFUSED((divide(p), p.stages[0].regions[0].starts = {-1}),
                 "does not hold");
}

TEST(Validate, halvesOfCollectives) {
  auto refusalOf = [](std::vector<Op> ops, DType type, int64_t elements) {
    return refusal([&](Plan& p) {
      int first = int(p.stages[0].buffers.size());
      addBuffer(p, "part", DType::f32, {8});
      addBuffer(p, "whole", type, {elements});
      for (Op& op : ops) {
        for (auto* list : {&op.inputs, &op.outputs})
          for (int& number : *list)
            number += first;
        op.group = 0;
      }
      p.stages[0].functions[0].ops = std::move(ops);
    });
  };
  std::vector<Op> gather = {makeOp(OpKind::AllGatherStart, "start", {0}, {1}),
                            makeOp(OpKind::AllGatherDone, "done", {1, 0}, {1})};
  std::vector<Op> scatter = {
      makeOp(OpKind::ReduceScatterStart, "start", {1}, {1}),
      makeOp(OpKind::ReduceScatterDone, "done", {1, 1}, {0})};
  for (const std::vector<Op>& ops : {gather, scatter}) {
    EXPECT_EQ(refusalOf(ops, DType::f32, 16), "");
    EXPECT_PRED2(says, refusalOf(ops, DType::f32, 24),
                 "wants [16] f32 in `whole`, which is [24] f32");
    EXPECT_PRED2(says, refusalOf(ops, DType::bf16, 16),
                 "does not take `whole` of type bf16");
  }
}

TEST(Validate, exchangesBesideKernelsMoveContiguousParts) {
  for (const int64_t rows : {1, 2}) {
    const std::string why = refusal([&](Plan& p) {
      const int64_t ranks = groupSize(p.mesh, p.mesh.groups[0]);
      const int from = int(p.stages[0].buffers.size()), to = from + 1;
      addBuffer(p, "from", DType::u8, {rows * ranks, 4, 3});
      addBuffer(p, "to", DType::u8, {rows, 4 * ranks, 3});
      std::vector<Op>& ops = p.stages[0].functions[0].ops;
      ops = {makeOp(OpKind::AllToAllStart, "start", {from}, {to}),
             makeOp(OpKind::AllToAllDone, "done", {to, from}, {to})};
      for (Op& op : ops) {
        op.group = 0;
        op.attributes = {{"split", int64_t(0)}, {"concat", int64_t(1)}};
      }
    });
    if (rows == 1)
      EXPECT_EQ(why, "");
    else
      EXPECT_PRED2(says, why, "exchanges parts that are not contiguous");
  }
}

TEST(Validate, sumsAreOfNumbers) {
  for (OpKind kind : {OpKind::AllReduce, OpKind::ReduceScatter})
    for (auto [type, isSummed] :
         {std::pair(DType::f32, true), std::pair(DType::bf16, true),
          std::pair(DType::i32, true), std::pair(DType::u16, false),
          std::pair(DType::f8e4m3, false)}) {
      const int64_t whole = kind == OpKind::AllReduce ? 8 : 16;
      const std::string why = refusal([&](Plan& p) {
        const int first = int(p.stages[0].buffers.size());
        addBuffer(p, "terms", type, {whole});
        addBuffer(p, "sums", type, {8});
        Op op = makeOp(kind, "sum", {first}, {first + 1});
        op.group = 0;
        if (kind == OpKind::AllReduce)
          op.attributes = {{"reduce", std::string("sum")}};
        p.stages[0].functions[0].ops = {op};
      });
      EXPECT_EQ(why.find("does not take `terms` of type") == std::string::npos,
                isSummed)
          << why;
      EXPECT_EQ(why.empty(), isSummed) << why;
    }
}

TEST(Validate, checkpoints) {
  EXPECT_REFUSED(p.checkpoint.every = -1, "numbers of checkpoints");
  EXPECT_REFUSED(p.checkpoint.everySeconds = -0.5, "numbers of checkpoints");
  EXPECT_REFUSED(p.checkpoint.keepTop = -1, "numbers of checkpoints");
  EXPECT_REFUSED((p.checkpoint.every = 5, p.checkpoint.directory = ""),
                 "keeps none");
  EXPECT_REFUSED((p.checkpoint.every = 5, p.checkpoint.directory = "saved",
                  p.checkpoint.keepLast = 0),
                 "keeps none");
  EXPECT_REFUSED((p.data.valid.reset(), p.checkpoint.keepTop = 1),
                 "validates none");
  EXPECT_REFUSED(p.stages[0].memory.host = -1, "negative entry");
  EXPECT_REFUSED(p.stages[0].memory.offloaded = -1, "negative entry");
}

TEST(Validate, inputsAndTraining) {
  EXPECT_REFUSED((p.mesh.groups.push_back({"cp", {"dp"}}), p.data.sequence = 6),
                 "6 tokens does not divide into two pieces for each of 2");
  EXPECT_REFUSED(p.stages[0].inputs.tokens = 1, "of another type");
  EXPECT_REFUSED(p.stages[0].inputs.step = 99, "is buffer 99 of");
  EXPECT_REFUSED(p.stages[0].outputs.loss = 1, "of another type");
  EXPECT_REFUSED(p.train.globalBatch = 3, "global batch 3");
  EXPECT_REFUSED(p.train.logEvery = 0, "out of range");
  EXPECT_REFUSED(p.train.steps = int64_t(1) << 31, "out of range");
  EXPECT_REFUSED(p.train.epochs = 1e300, "out of range");
  EXPECT_REFUSED(p.train.learningRate.warmup = -1, "out of range");
  EXPECT_REFUSED(p.compute = DType::i32, "computes in integers");
  EXPECT_REFUSED(p.stages[0].outputs.loss = -1, "no loss");
  EXPECT_REFUSED(p.stages[0].schedules[0].name = "run", "no schedule `train`");
  EXPECT_REFUSED(p.data.train.reset(), "no training data");
  EXPECT_REFUSED(p.data.valid = p.data.train, "no schedule `evaluate`");
  EXPECT_REFUSED((p.data.train = DataSource{"text", "", "", "", ""}),
                 "of kind `text` has no files");
  EXPECT_REFUSED(
      (p.data.train =
           DataSource{"token_file", "", "", "", "", {"a"}, "", "int8"}),
      "unknown type `int8`");
  EXPECT_REFUSED(blend(p).weights.pop_back(), "2 sources has 1 weights");
  EXPECT_REFUSED(blend(p).epochs.clear(), "and 0 numbers of epochs");
  EXPECT_REFUSED(blend(p).weights[1] = 0, "a weight that is not above 0");
  EXPECT_REFUSED(blend(p).epochs[1] = -1, "a number of epochs that is out of");
  EXPECT_REFUSED(blend(p).stopping = "never", "no known rule, `never`");
  EXPECT_REFUSED(blend(p).sources[0].kind = "mock", "a source of kind `mock`");
  EXPECT_REFUSED(blend(p).sources[1] = (DataSource{"text", "", "", "", ""}),
                 "`text` has no files");
  EXPECT_REFUSED((p.train.spike = 2, p.train.spikeWindow = 0),
                 "measure of spikes");
  EXPECT_REFUSED(p.train.spike = -1, "measure of spikes");
  EXPECT_REFUSED(p.train.logNorms = "blocks", "unknown groups `blocks`");
  EXPECT_REFUSED((p.train.straggler = 2, p.train.stragglerWindow = 0),
                 "measure of stragglers");
  EXPECT_REFUSED(p.train.straggler = -1, "measure of stragglers");
  EXPECT_REFUSED(p.train.spotNotices = "clouds", "unknown cloud");
  EXPECT_REFUSED(p.train.metricsPort = 65536, "port for metrics");
  EXPECT_REFUSED(p.train.metricsPort = -1, "port for metrics");
  EXPECT_REFUSED(p.task = "eval", "no task `eval`");
  EXPECT_REFUSED(p.device = "tpu", "no device `tpu`");
}

} // namespace
} // namespace reciperun::plan
