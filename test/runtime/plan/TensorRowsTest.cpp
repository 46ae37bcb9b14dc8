// Parameters that are rows of one Hugging Face tensor: which sets form a
// tensor, and which do not.

#include "runtime/plan/TensorRows.h"

#include "runtime/plan/PlanJson.h"
#include "test/runtime/Says.h"
#include "test/runtime/plan/SamplePlan.h"

#include <gtest/gtest.h>

#include <functional>

namespace reciperun::plan {
namespace {

Parameter tensorRows(const char* name, int64_t first, int64_t count) {
  Parameter parameter;
  parameter.name = name;
  parameter.hfName = "mix.weight";
  parameter.globalShape = parameter.hfShape = {count, 3};
  parameter.shardAxes = {"", ""};
  parameter.init = {"uniform", 0.5};
  parameter.hfRows = HfRows{first, 12};
  return parameter;
}

/// Three parts of a tensor of twelve rows, in another order than the rows.
std::vector<Parameter> parts() {
  return {tensorRows("c", 10, 2), tensorRows("a", 0, 4), tensorRows("b", 4, 6)};
}

std::string
rowsRefusal(const std::function<void(std::vector<Parameter>&)>& edit) {
  std::vector<Parameter> edited = parts();
  edit(edited);
  return checkTensorRows(edited).message();
}

using Parameters = std::vector<Parameter>;

TEST(TensorRows, CoverTheirTensor) {
  Status status = checkTensorRows(parts());
  EXPECT_TRUE(status.isOk()) << status.message();
  EXPECT_EQ(tensorShape(parts()[2]), (std::vector<int64_t>{12, 3}));
  EXPECT_EQ(elementsBefore(parts()[2]), 12);
  EXPECT_EQ(elementsBefore(samplePlan().parameters[0]), 0);
  EXPECT_EQ(tensorShape(samplePlan().parameters[0]),
            samplePlan().parameters[0].hfShape);
}

TEST(TensorRows, OfSeveralTensorsAreApart) {
  Parameters both = parts();
  for (Parameter other : parts()) {
    other.hfName = "other.weight";
    both.push_back(other);
  }
  EXPECT_TRUE(checkTensorRows(both).isOk());
}

TEST(TensorRows, MayNotLeaveTheTensor) {
  EXPECT_EQ(rowsRefusal([](Parameters& p) { p[0].hfRows->first = 11; }),
            "parameter `c` begins at row 11 of the 12 of tensor `mix.weight`, "
            "which does not hold it");
  for (int64_t first : {int64_t(-1), INT64_MAX, INT64_MIN})
    EXPECT_PRED2(
        says, rowsRefusal([&](Parameters& p) { p[1].hfRows->first = first; }),
        "of the 12 of tensor `mix.weight`, which does not hold it");
  for (int64_t of : {int64_t(0), int64_t(-1), INT64_MIN})
    EXPECT_PRED2(says,
                 rowsRefusal([&](Parameters& p) { p[1].hfRows->of = of; }),
                 "of tensor `mix.weight`, which does not hold it");
  EXPECT_PRED2(says, rowsRefusal([](Parameters& p) { p[1].hfShape = {}; }),
               "of the 12 of tensor `mix.weight`, which does not hold it");
  // More elements than 64 bits can count.
  EXPECT_PRED2(says,
               rowsRefusal([](Parameters& p) { p[1].hfRows->of = INT64_MAX; }),
               "of tensor `mix.weight`, which does not hold it");
}

TEST(TensorRows, OverlapInNoRow) {
  EXPECT_EQ(rowsRefusal([](Parameters& p) { p[2].hfRows->first = 3; }),
            "tensor `mix.weight` has parameters up to row 4, and the next, "
            "`b`, begins at row 3");
}

TEST(TensorRows, LeaveNoRowOut) {
  EXPECT_EQ(rowsRefusal([](Parameters& p) { p.erase(p.begin() + 2); }),
            "tensor `mix.weight` has parameters up to row 4, and the next, "
            "`c`, begins at row 10");
  EXPECT_EQ(rowsRefusal([](Parameters& p) { p.erase(p.begin()); }),
            "tensor `mix.weight` has 12 rows, of which the first 10 are "
            "parameters");
}

TEST(TensorRows, AreOfOneKind) {
  std::string words = "parameters `a` and `b` are rows of tensor `mix.weight`, "
                      "and not of one kind";
  EXPECT_EQ(rowsRefusal([](Parameters& p) { p[2].hfShape = {6, 4}; }), words);
  EXPECT_EQ(rowsRefusal([](Parameters& p) { p[2].hfRows->of = 13; }), words);
  EXPECT_EQ(rowsRefusal([](Parameters& p) { p[2].type = DType::f64; }), words);
  EXPECT_EQ(rowsRefusal([](Parameters& p) { p[2].trainable = false; }), words);
  EXPECT_EQ(rowsRefusal([](Parameters& p) { p[2].hfRows.reset(); }),
            "parameter `b` is all of tensor `mix.weight`, of which others are "
            "rows");
  EXPECT_NE(rowsRefusal([](Parameters& p) {
              for (Parameter& each : p)
                each.hfName = "mix.{expert}.weight";
            }),
            "");
}

TEST(TensorRows, NoTwoParametersAreOneTensor) {
  auto make = [](const char* name, const char* tensor) {
    Parameter parameter = tensorRows(name, 0, 4);
    parameter.hfName = tensor;
    parameter.hfRows.reset();
    return parameter;
  };
  EXPECT_EQ(checkTensorRows({make("a", "x"), make("b", "y"), make("c", "x")})
                .message(),
            "parameters `a` and `c` are both tensor `x`");
  EXPECT_NE(checkTensorRows({make("a", "__metadata__")})
                .message()
                .find("a name that safetensors keeps for itself"),
            std::string::npos);
  // Parameters without a name belong to no Hugging Face tensor.
  EXPECT_TRUE(checkTensorRows({make("a", ""), make("b", "")}).isOk());
}

TEST(TensorRows, AreOfSoManyExperts) {
  Parameter parameter = tensorRows("a", 0, 4);
  parameter.hfRows.reset();
  parameter.hfName = "experts.{expert}.weight";
  EXPECT_TRUE(checkTensorRows({parameter}).isOk());
  parameter.globalShape[0] = int64_t(1) << 40;
  EXPECT_NE(checkTensorRows({parameter}).message().find("a tensor for each"),
            std::string::npos);
  parameter.globalShape.clear();
  EXPECT_FALSE(checkTensorRows({parameter}).isOk());
}

TEST(TensorRows, AreInThePlan) {
  Plan plan = samplePlan();
  Expected<Plan> alone = fromJson(toJson(plan));
  ASSERT_TRUE(alone) << alone.message();
  EXPECT_FALSE(alone->parameters[0].hfRows);
  plan.parameters[0].hfRows = HfRows{4, 16};
  std::string text = toJson(plan);
  EXPECT_NE(text.find(R"("hf_rows":{"first":4,"of":16})"), std::string::npos);
  Expected<Plan> read = fromJson(text);
  ASSERT_TRUE(read) << read.message();
  EXPECT_EQ(read->parameters[0].hfRows->first, 4);
  EXPECT_EQ(read->parameters[0].hfRows->of, 16);
  EXPECT_EQ(validate(*read).message(),
            "the plan is damaged: tensor `model.layer.weight` has parameters "
            "up to row 0, and the next, `layer.weight`, begins at row 4");
}

} // namespace
} // namespace reciperun::plan
