// Lines and columns of a source.

#include "compiler/base/Source.h"

#include <gtest/gtest.h>

using namespace recipec;

namespace {

struct SourceTest : testing::Test {
  SourceMap sources;
  SourceId add(std::string text, SourceKind kind = SourceKind::file) {
    return sources.add("a.recipe", std::move(text), kind);
  }
  std::string place(SourceId id, uint32_t offset) {
    return sources.describe({id, offset, offset});
  }
};

TEST_F(SourceTest, FindsLineAndColumn) {
  SourceId id = add("ab\n\ncd");
  EXPECT_EQ(place(id, 0), "a.recipe:1:1");
  EXPECT_EQ(place(id, 2), "a.recipe:1:3"); // the newline
  EXPECT_EQ(place(id, 3), "a.recipe:2:1");
  EXPECT_EQ(place(id, 4), "a.recipe:3:1");
  EXPECT_EQ(place(id, 6), "a.recipe:3:3"); // the end
  EXPECT_EQ(sources.lineCount(id), 3);
}

TEST_F(SourceTest, CountsCodePoints) {
  SourceId id = add("\xC3\xA9\xE4\xBD\xA0x"); // e with acute, a Han sign, x
  EXPECT_EQ(place(id, 2), "a.recipe:1:2");
  EXPECT_EQ(place(id, 5), "a.recipe:1:3");
}

TEST_F(SourceTest, IgnoresByteOrderMark) {
  SourceId id = add("\xEF\xBB\xBFx\ny");
  EXPECT_EQ(place(id, 3), "a.recipe:1:1");
  EXPECT_EQ(sources.lineText(id, 1), "x");
  EXPECT_EQ(sources.lineText(id, 2), "y");
}

TEST_F(SourceTest, LineTextHasNoLineEnd) {
  SourceId id = add("a\r\nb\n");
  EXPECT_EQ(sources.lineText(id, 1), "a");
  EXPECT_EQ(sources.lineText(id, 2), "b");
  EXPECT_EQ(sources.lineText(id, 3), "");
}

TEST_F(SourceTest, DescribesCommandLineByItsArgument) {
  SourceId id = sources.add("--set", "a.b=1", SourceKind::commandLine);
  EXPECT_EQ(sources.describe({id, 4, 5}), "--set a.b=1");
  EXPECT_EQ(sources.describe({}), "");
}

TEST_F(SourceTest, CoversTwoRanges) {
  SourceId id = add("abcdef");
  EXPECT_EQ(cover({id, 3, 4}, {id, 0, 1}), (SourceRange{id, 0, 4}));
  EXPECT_EQ(cover({}, {id, 0, 1}), (SourceRange{id, 0, 1}));
}

} // namespace
