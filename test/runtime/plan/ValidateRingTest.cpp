// Plans with ring attention out of range are refused, each with its reason.

#include "runtime/ops/OpKind.h"
#include "test/runtime/Says.h"
#include "test/runtime/plan/Refusal.h"

#include <gtest/gtest.h>

#include <functional>
#include <utility>

namespace reciperun::plan {
namespace {

TEST(ValidateRing, blocks) {
  // Over the two ranks of `tp`, of 8 tokens and one head of width 2.
  struct Block {
    DType sum = DType::f32, room = DType::bf16;
    int64_t step = 1, queries = 8;
    std::string axis = "tp";
  };
  auto block = [](Plan& p, const Block& of) {
    int q = addBuffer(p, "q", DType::bf16, {1, of.queries, 1, 2});
    int k = addBuffer(p, "k", DType::bf16, {1, 8, 1, 2});
    int sum = addBuffer(p, "sum", of.sum, {1, 8, 1, 2});
    int lse = addBuffer(p, "lse", DType::f32, {1, 1, 8});
    int room = addBuffer(p, "room", of.room, {1, 8, 1, 2});
    Op op = makeOp(OpKind::AttentionBlock, "block", {q, k, k, 0, 0, 0, 0},
                   {sum, lse, room});
    op.attributes = {{"step", of.step}, {"axis", of.axis}};
    Op end = makeOp(OpKind::AttentionBlocksEnd, "end", {sum}, {room, lse});
    p.stages[0].functions[0].ops = {op, end};
  };
  EXPECT_EQ(refusal([&](Plan& p) { block(p, {}); }), "");
  EXPECT_EQ(refusal([&](Plan& p) {
              block(p, {});
              p.stages[0].functions[0].ops[0].outputs[2] = -1;
            }),
            "");
  EXPECT_REFUSED(block(p, {.step = 2}), "is step 2 of a ring of 2");
  EXPECT_REFUSED(block(p, {.step = -1}), "is step -1 of a ring of 2");
  EXPECT_REFUSED(block(p, {.axis = "cp"}), "names the axis `cp`");
  EXPECT_REFUSED(block(p, {.axis = ""}), "is step 1 of a ring of 1");
  EXPECT_REFUSED(block(p, {.sum = DType::bf16}), "does not take `sum`");
  EXPECT_REFUSED(block(p, {.room = DType::f32}), "does not take `room`");
  EXPECT_REFUSED(block(p, {.queries = 16}), "wants 16 elements");
}

TEST(ValidateRing, gradientsHaveAWorkspace) {
  auto block = [](Plan& p, int64_t room) {
    int q = addBuffer(p, "q", DType::f32, {1, 8, 1, 2});
    int dq = addBuffer(p, "dq", DType::f32, {1, 8, 1, 2});
    int lse = addBuffer(p, "lse", DType::f32, {1, 1, 8});
    Op op = makeOp(OpKind::AttentionBlockBackward, "block",
                   {q, q, q, q, q, lse, 0, 0, 0, 0}, {dq, dq, dq, -1, -1, -1});
    op.attributes = {{"axis", std::string("tp")}};
    if (room > 0)
      op.workspace = addBuffer(p, "workspace", DType::f32, {room});
    p.stages[0].functions[0].ops = {op};
  };
  EXPECT_EQ(refusal([&](Plan& p) { block(p, 8); }), "");
  EXPECT_REFUSED(block(p, 7), "wants a workspace of 8 elements");
  EXPECT_REFUSED(block(p, 0), "needs a workspace");
}

TEST(ValidateRing, shifts) {
  auto shift = [](Plan& p, const std::function<void(Op&, Op&)>& edit) {
    int own = addBuffer(p, "own", DType::f32, {8});
    int other = addBuffer(p, "other", DType::f32, {8});
    addBuffer(p, "longer", DType::f32, {9});
    Op start = makeOp(OpKind::RingShiftStart, "shift", {own, 0, -1, -1},
                      {other, 0, -1, -1});
    Op done = makeOp(OpKind::RingShiftDone, "shift",
                     {other, 0, -1, -1, own, 0, -1, -1}, {other, 0, -1, -1});
    start.group = done.group = 0;
    edit(start, done);
    p.stages[0].functions[0].ops = {start, done};
  };
  auto expectRefused = [&](const std::function<void(Op&, Op&)>& edit,
                           const char* words) {
    EXPECT_PRED2(says, refusal([&](Plan& p) { shift(p, edit); }), words);
  };
  EXPECT_EQ(refusal([&](Plan& p) { shift(p, [](Op&, Op&) {}); }), "");
  expectRefused([](Op& start, Op&) { start.group = -1; }, "needs a group");
  expectRefused([](Op& start, Op&) { start.outputs[0] = -1; },
                "names buffer -1");
  expectRefused([](Op& start, Op&) { start.outputs[1] = -1; },
                "sends and receives other numbers of tensors");
  expectRefused([](Op& start, Op&) { ++start.outputs[0]; },
                "wants 8 elements in `longer`");
  expectRefused([](Op&, Op& done) { done.outputs[1] = -1; },
                "sends and receives other numbers of tensors");
  expectRefused(
      [](Op&, Op& done) { std::swap(done.inputs[0], done.inputs[4]); },
      "completes into other buffers");
}

} // namespace
} // namespace reciperun::plan
