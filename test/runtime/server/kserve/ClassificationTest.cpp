// The classification extension.

#include "runtime/server/models/Classification.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace reciperun::server {
namespace {

const std::vector<std::string> labels = {"cat", "dog"};

Tensor scores(std::vector<int64_t> shape, const std::vector<float>& values) {
  return {"O",
          DataType::fp32,
          std::move(shape),
          {reinterpret_cast<const char*>(values.data()),
           values.size() * sizeof(float)}};
}

std::vector<std::string_view> textsOf(const Expected<Tensor>& tensor) {
  EXPECT_TRUE(tensor) << tensor.message();
  return tensor ? *bytesElements(tensor->data)
                : std::vector<std::string_view>();
}

TEST(Classification, SortsAndLabels) {
  const auto made = classify(scores({3}, {0.5f, 2, 1}), 2, false, labels);
  EXPECT_EQ(textsOf(made),
            std::vector<std::string_view>({"2.000000:1:dog", "1.000000:2"}));
  EXPECT_EQ(made->type, DataType::bytes);
  EXPECT_EQ(made->shape, std::vector<int64_t>({2}));
}

TEST(Classification, EachElementOfABatch) {
  const auto made = classify(scores({2, 2}, {1, 0, 0, 1}), 9, true, {});
  EXPECT_EQ(textsOf(made),
            std::vector<std::string_view>(
                {"1.000000:0", "0.000000:1", "1.000000:1", "0.000000:0"}));
  EXPECT_EQ(made->shape, std::vector<int64_t>({2, 2}));
}

TEST(Classification, EqualElementsAndNaNHaveAnOrder) {
  const float nan = std::nanf("");
  const auto made = classify(scores({4}, {nan, 1, 1, nan}), 4, false, labels);
  const auto texts = textsOf(made);
  ASSERT_EQ(texts.size(), 4u);
  EXPECT_EQ(texts[0], "1.000000:1:dog");
  EXPECT_EQ(texts[1], "1.000000:2");
  EXPECT_EQ(texts[2], "nan:0:cat");
}

TEST(Classification, Refusals) {
  EXPECT_EQ(classify({"O", DataType::fp16, {1}, "ab"}, 1, false, {}).message(),
            "class result not available for output due to unsupported type "
            "'FP16'");
  EXPECT_EQ(
      classify({"O", DataType::int8, {1'000'001}, std::string(1'000'001, 'a')},
               1, false, {})
          .message(),
      "classification output tensor too large");
  EXPECT_FALSE(classify({"O", DataType::int8, {3}, "ab"}, 1, false, {}));
}

} // namespace
} // namespace reciperun::server
