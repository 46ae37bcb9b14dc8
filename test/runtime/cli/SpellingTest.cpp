// Nearest-name suggestions.

#include "runtime/cli/Spelling.h"

#include <gtest/gtest.h>

namespace reciperun::cli {
namespace {

const std::vector<std::string> names = {"--json", "--set", "train", "plan"};

TEST(Spelling, FindsTheNearest) {
  EXPECT_EQ(nearest("--jsn", names), "--json");
  EXPECT_EQ(nearest("paln", names), "plan"); // a transposition is one edit
  EXPECT_EQ(nearest("trains", names), "train");
}

TEST(Spelling, FindsNothingFarAway) {
  EXPECT_EQ(nearest("xyzzy", names), std::nullopt);
  EXPECT_EQ(nearest("", names), std::nullopt);
  EXPECT_EQ(nearest("x", {"y"}), std::nullopt);
}

TEST(Spelling, ListsNames) {
  EXPECT_EQ(quotedList({"a"}, "or"), "`a`");
  EXPECT_EQ(quotedList({"a", "b", "c"}, "or"), "`a`, `b` or `c`");
}

} // namespace
} // namespace reciperun::cli
