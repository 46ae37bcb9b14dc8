// State space ops whose operands do not fit together are refused: each size
// also occurs in another operand or an attribute.

#include "runtime/plan/PlanJson.h"

#include "runtime/ops/OpTable.h"
#include "test/runtime/Says.h"
#include "test/runtime/plan/SamplePlan.h"

#include <gtest/gtest.h>

namespace reciperun::plan {
namespace {

/// An op with its own operands, inputs first.
struct Call {
  OpKind kind;
  size_t inputs;
  std::vector<Buffer> operands;
  int64_t chunk = 4;
};

/// The message for the sample plan with one op instead of its functions.
std::string stateSpaceRefusal(const Call& call) {
  Plan plan = samplePlan();
  std::vector<int> inputs, outputs;
  for (size_t i = 0; i < call.operands.size(); ++i) {
    const Buffer& operand = call.operands[i];
    (i < call.inputs ? inputs : outputs)
        .push_back(operand.shape.empty()
                       ? -1
                       : addBuffer(plan, operand.name.c_str(), operand.dtype,
                                   operand.shape));
  }
  plan.stages[0].functions[0].ops = {makeOp(call.kind, "op", inputs, outputs)};
  if (ops::findAttribute(call.kind, "chunk"))
    plan.stages[0].functions[0].ops[0].attributes = {{"chunk", call.chunk}};
  return validate(plan).message();
}

Buffer operand(const char* name, DType type, std::vector<int64_t> shape) {
  Buffer buffer;
  buffer.name = name;
  buffer.dtype = type;
  buffer.shape = std::move(shape);
  return buffer;
}
Buffer absent() {
  return operand("absent", DType::f32, {});
}

constexpr DType T = DType::bf16, sums = DType::f32;
const Buffer x = operand("x", T, {2, 9, 3, 10}),
             dt = operand("dt", T, {2, 9, 3, 5}),
             b = operand("b", T, {2, 9, 3, 7}),
             c = operand("c", T, {2, 9, 3, 7}),
             parameter = operand("parameter", T, {3, 5}),
             segments = operand("segments", DType::i32, {2, 9}),
             states = operand("states", sums, {2, 3, 3, 10, 7}),
             sum = operand("sum", sums, {3, 5}),
             w = operand("w", T, {3, 10, 4}),
             dw = operand("dw", sums, {3, 10, 4});

const Call conv = {OpKind::CausalConv, 3, {x, w, segments, x}};
const Call convBackward = {
    OpKind::CausalConvBackward, 4, {x, x, w, segments, x, dw}};
const Call scan = {
    OpKind::StateScan,
    8,
    {x, dt, b, c, parameter, parameter, parameter, segments, x, states}};
const Call scanBackward = {OpKind::StateScanBackward,
                           10,
                           {x, x, dt, b, c, parameter, parameter, parameter,
                            segments, states, x, dt, b, c, sum, sum, sum}};

TEST(ValidateStateSpace, takesWhatFits) {
  EXPECT_EQ(stateSpaceRefusal(conv), "");
  EXPECT_EQ(stateSpaceRefusal(convBackward), "");
  EXPECT_EQ(stateSpaceRefusal(scan), "");
  EXPECT_EQ(stateSpaceRefusal(scanBackward), "");
}

TEST(ValidateStateSpace, sizesDependOnOneAnother) {
  for (const Call& call : {conv, convBackward, scan, scanBackward})
    for (size_t i = 0; i < call.operands.size(); ++i)
      for (size_t d = 0; d < call.operands[i].shape.size(); ++d) {
        // Only the weight has the kernel's width.
        if (call.kind == OpKind::CausalConv && i == 1 && d == 2)
          continue;
        for (int64_t change : {-1, 1}) {
          Call other = call;
          other.operands[i].shape[d] += change;
          EXPECT_TRUE(says(stateSpaceRefusal(other), " wants ") ||
                      says(stateSpaceRefusal(other), " does not divide "))
              << stateSpaceRefusal(other) << ": " << ops::opName(call.kind)
              << ", operand " << i << ", dimension " << d;
        }
      }
}

TEST(ValidateStateSpace, typesDependOnOneAnother) {
  using enum DType;
  for (const Call& call : {conv, convBackward, scan, scanBackward})
    for (size_t i = 0; i < call.operands.size(); ++i)
      for (DType type : {f64, i64, u16}) {
        Call other = call;
        other.operands[i].dtype = type;
        EXPECT_PRED2(says, stateSpaceRefusal(other), " does not take ")
            << ops::opName(call.kind) << ", operand " << i;
      }
}

TEST(ValidateStateSpace, everyOperandIsNamed) {
  for (const Call& call : {conv, convBackward, scan, scanBackward})
    for (size_t i = 0; i < call.operands.size(); ++i) {
      Call other = call;
      other.operands[i] = absent();
      const bool mayLack =
          (call.kind == OpKind::CausalConvBackward && i >= 4) ||
          (call.kind == OpKind::StateScan && i >= 8) ||
          (call.kind == OpKind::StateScanBackward && i >= 14);
      EXPECT_EQ(stateSpaceRefusal(other).empty(), mayLack)
          << ops::opName(call.kind) << ", operand " << i;
    }
}

TEST(ValidateStateSpace, gradientsMayBeAsNarrowAsTheirOperands) {
  Call call = convBackward;
  call.operands[5].dtype = T;
  EXPECT_EQ(stateSpaceRefusal(call), "");
  call = scanBackward;
  call.operands[16].dtype = T;
  EXPECT_EQ(stateSpaceRefusal(call), "");
}

TEST(ValidateStateSpace, saysWhatDoesNotFit) {
  auto expect = [](const Call& call, const char* words) {
    const std::string message = stateSpaceRefusal(call);
    EXPECT_NE(message.find(words), std::string::npos) << message;
  };
  for (int64_t chunk : {0, -1}) {
    Call call = scan;
    call.chunk = chunk;
    expect(call, "(state_scan) scans in chunks of ");
  }
  // Nine tokens in chunks of five make two chunks.
  Call fewer = scan;
  fewer.chunk = 5;
  expect(fewer, "wants [2, 3, 2, 10, 7] f32 in `states`");
  fewer.operands[9].shape[2] = 2;
  EXPECT_EQ(stateSpaceRefusal(fewer), "");
  Call uneven = scan;
  uneven.operands[1].shape[3] = 4;
  for (size_t i : {4, 5, 6})
    uneven.operands[i].shape[1] = 4;
  expect(uneven, "4 does not divide 10");
  Call apart = conv;
  apart.operands[1].shape[1] = 11;
  expect(apart, "wants [3, 10, 4] bf16 in `w`, which is [3, 11, 4] bf16");
}

/// A weight has the last one or more dimensions of the normalised tensor.
TEST(ValidateStateSpace, weightsOfNorms) {
  const Buffer rows = operand("rows", sums, {2, 9, 3});
  auto refusalWith = [&](std::vector<int64_t> shape) {
    return stateSpaceRefusal(
        {OpKind::RmsNorm, 2, {x, operand("w", T, shape), x, rows}});
  };
  auto refusalOfGradient = [&](std::vector<int64_t> shape) {
    return stateSpaceRefusal({OpKind::RmsNormBackward,
                              4,
                              {x, x, operand("w", T, {3, 10}), rows, x,
                               operand("dw", sums, shape)}});
  };
  EXPECT_EQ(refusalWith({10}), "");
  EXPECT_EQ(refusalWith({3, 10}), "");
  EXPECT_EQ(refusalWith({9, 3, 10}), "");
  for (int64_t elements : {3, 20, 60, 1080})
    EXPECT_NE(refusalWith({elements}).find("wants the last dimensions of"),
              std::string::npos);
  EXPECT_EQ(refusalOfGradient({3, 10}), "");
  EXPECT_PRED2(says, refusalOfGradient({10}),
               "wants 30 elements in `dw`, which is [10] f32");
}

} // namespace
} // namespace reciperun::plan
