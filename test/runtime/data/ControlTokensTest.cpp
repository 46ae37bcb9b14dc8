// What counts as a control token of a text.

#include "runtime/data/ControlTokens.h"

#include <gtest/gtest.h>

namespace reciperun::data {
namespace {

using Tokens = std::vector<std::string>;

TEST(ControlTokens, areFoundInTemplates) {
  EXPECT_EQ(controlTokens("<|im_start|>{role}\n"), Tokens{"<|im_start|>"});
  EXPECT_EQ(controlTokens("<|start_header_id|>{role}<|end_header_id|>\n\n"),
            (Tokens{"<|start_header_id|>", "<|end_header_id|>"}));
  EXPECT_EQ(controlTokens("<s>[INST] a [/INST] b </s><s>"),
            (Tokens{"<s>", "[INST]", "[/INST]", "</s>"}));
}

TEST(ControlTokens, areNoPlainWords) {
  EXPECT_EQ(controlTokens("### {role}: "), Tokens{});
  EXPECT_EQ(controlTokens("a < b > c, [ x ], <>, []"), Tokens{});
  EXPECT_EQ(controlTokens("<{role}>"), Tokens{});
  EXPECT_EQ(controlTokens("<<SYS>> x<"), Tokens{"<SYS>"});
}

} // namespace
} // namespace reciperun::data
