// Words that a shell reads as they were meant.

#include "runtime/base/Shell.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdio>

namespace reciperun {
namespace {

/// What /bin/sh makes of a word.
std::string readByShell(const std::string& word) {
  std::FILE* output = popen(("printf %s " + word).c_str(), "r");
  std::array<char, 256> text = {};
  const size_t size = std::fread(text.data(), 1, text.size(), output);
  pclose(output);
  return {text.data(), size};
}

TEST(Shell, readsAWordAsItWasMeant) {
  for (const char* text :
       {"plain", "a,b=c%d", "", "two words", "it's", "''", "$HOME", "a\nb",
        "`id`", "\\", "~", "*", "train.dir=\"x\"", "#1"})
    EXPECT_EQ(readByShell(shellWord(text)), text);
}

TEST(Shell, quotesOnlyWhatNeedsIt) {
  EXPECT_EQ(shellWord("s3://bucket/a-b_c.json:x,y@2%+"),
            "s3://bucket/a-b_c.json:x,y@2%+");
  EXPECT_EQ(shellWord("a b"), "'a b'");
  EXPECT_EQ(shellWord("it's"), "'it'\\''s'");
}

} // namespace
} // namespace reciperun
