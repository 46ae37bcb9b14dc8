// Every kind can be found by name, and its text fits a terminal.

#include "compiler/diag/Diagnostic.h"

#include <gtest/gtest.h>

#include <sstream>

using namespace recipec::diag;

namespace {

/// Counts sentences. A sentence ends in `.`, `!` or `?` before a space or a
/// line break. An example ends one too.
int sentences(const std::string& text) {
  int count = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    bool isEnd = text[i] == '.' || text[i] == '!' || text[i] == '?';
    bool isLast =
        i + 1 == text.size() || text[i + 1] == ' ' || text[i + 1] == '\n';
    bool isElision = i > 0 && text[i - 1] == '.';
    count += isEnd && isLast && !isElision;
  }
  return count;
}

TEST(ExplanationsTest, EveryTextHasAnExampleAndItsRemedy) {
  for (const std::string& name : kindNames()) {
    std::string text(explanation(*findKind(name)));
    EXPECT_GE(sentences(text), 2) << name;
    size_t example = text.find("\n\n    ");
    ASSERT_NE(example, std::string::npos) << name << " has no example";
    size_t remedy = text.find("\n\n", example + 2);
    ASSERT_NE(remedy, std::string::npos) << name << " ends in its example";
    EXPECT_GT(text.size() - remedy, 20u) << name;
  }
}

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
