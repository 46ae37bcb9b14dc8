// Every kind has a name that finds it and a text that fits a terminal.

#include "compiler/diag/Diagnostic.h"

#include <gtest/gtest.h>

#include <sstream>

using namespace recipec::diag;

namespace {

TEST(ExplanationsTest, EveryKindIsExplained) {
  for (const std::string& name : kindNames()) {
    auto kind = findKind(name);
    ASSERT_TRUE(kind) << name;
    EXPECT_EQ(kindName(*kind), name);
    std::string text(explanation(*kind));
    EXPECT_GT(text.size(), 40u) << name;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);)
      EXPECT_LE(line.size(), 80u) << name << ": " << line;
  }
  EXPECT_EQ(findKind("Nonsense"), std::nullopt);
}

} // namespace
