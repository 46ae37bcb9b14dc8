// fp8 ops whose operands do not fit together are refused.

#include "runtime/plan/PlanJson.h"

#include "runtime/ops/OpTable.h"
#include "test/runtime/Says.h"
#include "test/runtime/plan/SamplePlan.h"

#include <gtest/gtest.h>

namespace reciperun::plan {
namespace {

using ops::Attributes;

struct Operand {
  DType type = DType::f32;
  std::vector<int64_t> shape; // empty: absent
};

/// An op with its own operands, inputs first.
struct Call {
  OpKind kind;
  size_t inputs;
  std::vector<Operand> operands;
  Attributes attributes = {};
  bool keepsAmaxHistory = false; // the last output is input 1
};

/// The message for the sample plan with one op instead of its functions.
std::string quantizedRefusal(const Call& call) {
  Plan plan = samplePlan();
  std::vector<int> inputs, outputs;
  for (size_t i = 0; i < call.operands.size(); ++i) {
    const Operand& operand = call.operands[i];
    const std::string name = "operand " + std::to_string(i);
    (i < call.inputs ? inputs : outputs)
        .push_back(
            operand.shape.empty()
                ? -1
                : addBuffer(plan, name.c_str(), operand.type, operand.shape));
  }
  if (call.keepsAmaxHistory)
    outputs.back() = inputs[1];
  plan.stages[0].functions[0].ops = {makeOp(call.kind, "op", inputs, outputs)};
  plan.stages[0].functions[0].ops[0].attributes = call.attributes;
  return validate(plan).message();
}

constexpr DType T = DType::bf16, F = DType::f8e4m3;
const Operand none, x{T, {10, 15, 20}}, q{F, {150, 20}}, qt{F, {20, 150}},
    one{DType::f32, {1}}, history{DType::f32, {4}};

const Call whole = {OpKind::Quantize, 2, {x, none, q, one, qt, none, none}};
const Call past = {
    OpKind::Quantize, 2, {x, history, q, one, qt, none, history}, {}, true};
const Call wholeRows = {OpKind::Quantize,
                        2,
                        {x, none, q, {DType::f32, {150}}, none, none, none},
                        {{"blocks", std::string("whole_rows")}}};
const Call rows = {
    OpKind::Quantize,
    2,
    {x, none, q, {DType::f32, {1, 150}}, qt, {DType::f32, {2, 20}}, none},
    {{"blocks", std::string("rows")}}};
const Call squares = {
    OpKind::Quantize,
    2,
    {x, none, q, {DType::f32, {2, 4}}, qt, {DType::f32, {1, 4}}, none},
    {{"blocks", std::string("squares")}}};
const Call mx = {OpKind::Quantize,
                 2,
                 {x,
                  none,
                  q,
                  {DType::f8e8m0, {2, 1, 32, 4, 4}},
                  qt,
                  {DType::f8e8m0, {1, 2, 32, 4, 4}},
                  none},
                 {{"blocks", std::string("mx")}}};
const Call product = {
    OpKind::ScaledMatmul, 4, {q, {F, {30, 20}}, one, one, {T, {150, 30}}}};
const Call ofBlocks = {
    OpKind::ScaledMatmul,
    4,
    {q,
     {F, {30, 20}},
     {DType::f32, {1, 150}},
     {DType::f32, {1, 4}},
     {T, {150, 30}}},
    {{"a_blocks", std::string("rows")}, {"b_blocks", std::string("squares")}}};

const Call ofWholeRows = {
    OpKind::ScaledMatmul,
    4,
    {q, {F, {30, 20}}, {DType::f32, {150}}, {DType::f32, {30}}, {T, {150, 30}}},
    {{"a_blocks", std::string("whole_rows")},
     {"b_blocks", std::string("whole_rows")}}};
const Call ofMx = {
    OpKind::ScaledMatmul,
    4,
    {q,
     {F, {30, 20}},
     {DType::f8e8m0, {2, 1, 32, 4, 4}},
     {DType::f8e8m0, {1, 1, 32, 4, 4}},
     {T, {150, 30}}},
    {{"a_blocks", std::string("mx")}, {"b_blocks", std::string("mx")}}};
const Call sum = {OpKind::ScaledMatmulAdd,
                  5,
                  {q, {F, {30, 20}}, one, one, {T, {150, 30}}, {T, {150, 30}}}};
const Call ofInt4 = {
    OpKind::QuantizedLinear,
    4,
    {x, {DType::u8, {30, 10}}, {DType::f32, {30, 1}}, none, {T, {150, 30}}},
    {{"scales", std::string("groups")}}};
const Call swiglu = {
    OpKind::SwigluQuantize, 3, {x, x, none, q, one, qt, none, none}};
const Call normed = {OpKind::RmsNormQuantize,
                     2,
                     {{T, {150, 20}}, {T, {20}}, q, {DType::f32, {150}}}};
const Call slopes = {
    OpKind::SwigluBackwardQuantize,
    5,
    {x, x, x, none, none, q, one, none, none, none, q, one, qt, none, none}};
// 28 elements and a scale fill the 32 bytes of a row.
const Call toBytes = {
    OpKind::QuantizeRows, 1, {{T, {10, 15, 28}}, {DType::u8, {10, 15, 32}}}};
const Call fromBytes = {
    OpKind::DequantizeRows, 1, {{DType::u8, {10, 15, 32}}, {T, {10, 15, 28}}}};
const Call transpose = {OpKind::Transpose, 1, {q, qt}};
const Attributes lastRun = {{"axis", std::string("dp")},
                            {"start", int64_t(928)},
                            {"count", int64_t(96)},
                            {"place", int64_t(3)}};
const Operand part{T, {512}}, maxima{DType::f32, {4}}, narrowPart{F, {512}};
const Call mostOfPart = {OpKind::ShardAmax, 1, {part, maxima}, lastRun};
const Call castPart = {
    OpKind::QuantizeShard, 2, {part, maxima, narrowPart, one}, lastRun};
/// Every size of these calls follows from the other operands.
const Call all[] = {whole,   wholeRows, rows,        squares, mx,
                    product, ofBlocks,  ofWholeRows, ofMx,    sum,
                    ofInt4,  swiglu,    normed,      slopes,  transpose,
                    toBytes, fromBytes};

TEST(ValidateQuantized, takesWhatFits) {
  for (const Call& call : all)
    EXPECT_EQ(quantizedRefusal(call), "");
  for (const Call& call : {past, mostOfPart, castPart})
    EXPECT_EQ(quantizedRefusal(call), "");
}

TEST(ValidateQuantized, sizesDependOnOneAnother) {
  for (const Call& call : all)
    for (size_t i = 0; i < call.operands.size(); ++i)
      for (size_t d = 0; d < call.operands[i].shape.size(); ++d) {
        Call other = call;
        other.operands[i].shape[d] += 1;
        EXPECT_PRED2(says, quantizedRefusal(other), " wants ")
            << ops::opName(call.kind) << " operand " << i << " dimension " << d;
      }
}

TEST(ValidateQuantized, typesAreThoseOfTheOp) {
  for (const Call& call : all)
    for (size_t i = 0; i < call.operands.size(); ++i) {
      if (call.operands[i].shape.empty())
        continue;
      Call other = call;
      other.operands[i].type = DType::i32;
      EXPECT_PRED2(says, quantizedRefusal(other), "does not take `operand")
          << ops::opName(call.kind) << " operand " << i;
    }
}

TEST(ValidateQuantized, whatGoesTogetherIsThere) {
  auto without = [](Call call, std::vector<size_t> operands) {
    for (size_t operand : operands)
      call.operands[operand] = none;
    return quantizedRefusal(call);
  };
  EXPECT_EQ(without(whole, {2}), "");
  EXPECT_EQ(without(whole, {4}), "");
  EXPECT_EQ(without(rows, {2, 3}), "");
  EXPECT_PRED2(says, without(whole, {2, 4}), "makes nothing");
  EXPECT_PRED2(says, without(whole, {3}), "makes a matrix without a scale");
  EXPECT_PRED2(says, without(rows, {5}), "makes a matrix without a scale");
}

TEST(ValidateQuantized, matricesOfOneOpAreAlike) {
  Call other = slopes;
  other.operands[5] = {F, {300, 10}};
  EXPECT_NE(quantizedRefusal(other).find("[300, 10]"), std::string::npos);
  other = slopes;
  other.operands[5].type = DType::f8e5m2;
  EXPECT_PRED2(says, quantizedRefusal(other),
               "does not take `operand 10` of type f8e4m3");
}

TEST(ValidateQuantized, runsLieInTheParts) {
  for (const Call& call : {mostOfPart, castPart}) {
    auto with = [&](const char* attribute, AttributeValue value) {
      Call other = call;
      other.attributes[attribute] = std::move(value);
      return quantizedRefusal(other);
    };
    EXPECT_PRED2(says, with("axis", std::string("pp")),
                 "names the axis `pp`, which the mesh lacks");
    for (int64_t start : {int64_t(-1), int64_t(929), INT64_MAX})
      EXPECT_NE(with("start", start).find("all parts have 1024"),
                std::string::npos);
    for (int64_t count : {int64_t(0), int64_t(97), INT64_MAX})
      EXPECT_PRED2(says, with("count", count),
                   "from 928 on, and all parts have 1024");
    for (int64_t place : {int64_t(-1), int64_t(4)})
      EXPECT_NE(with("place", place).find("of 4"), std::string::npos);
    for (size_t i = 0; i < call.operands.size(); ++i) {
      Call other = call;
      other.operands[i].type = DType::i32;
      EXPECT_PRED2(says, quantizedRefusal(other), "does not take `operand")
          << i;
    }
  }
  Call other = castPart;
  other.operands[2].shape = {1024};
  EXPECT_NE(quantizedRefusal(other).find("[1024]"), std::string::npos);
}

TEST(ValidateQuantized, attributesThatKernelsKnow) {
  Call other = rows;
  other.attributes = {{"blocks", std::string("columns")}};
  EXPECT_PRED2(says, quantizedRefusal(other),
               "has `blocks` = `columns`, which is not known");
  other = ofBlocks;
  other.operands[2] = {DType::f32, {2, 4}};
  other.attributes["a_blocks"] = std::string("squares");
  EXPECT_NE(quantizedRefusal(other).find("both sides"), std::string::npos);
  other = ofMx;
  other.operands[3] = {DType::f32, {1, 30}};
  other.attributes["b_blocks"] = std::string("rows");
  EXPECT_NE(quantizedRefusal(other).find("one side alone"), std::string::npos);
  other = ofWholeRows;
  other.operands[3] = one;
  other.attributes.erase("b_blocks");
  EXPECT_NE(quantizedRefusal(other).find("`whole_rows` on one side alone"),
            std::string::npos);
  other = rows;
  other.attributes = wholeRows.attributes;
  EXPECT_NE(quantizedRefusal(other).find("more than one matrix"),
            std::string::npos);
  other = ofInt4;
  other.attributes = {{"scales", std::string("columns")}};
  EXPECT_PRED2(says, quantizedRefusal(other),
               "has `scales` = `columns`, which is not known");
  other = rows;
  other.operands[1] = other.operands[6] = history;
  other.keepsAmaxHistory = true;
  EXPECT_NE(quantizedRefusal(other).find("history of blocks"),
            std::string::npos);
  other = past;
  other.keepsAmaxHistory = false;
  EXPECT_NE(quantizedRefusal(other).find("one history"), std::string::npos);
}

} // namespace
} // namespace reciperun::plan
