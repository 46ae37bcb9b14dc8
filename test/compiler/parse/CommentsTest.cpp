// The assignment of comments to items.

#include "compiler/parse/Parse.h"

#include <gtest/gtest.h>

using namespace recipec;
using Texts = std::vector<std::string>;

namespace {

struct CommentsTest : testing::Test {
  SourceMap sources;
  diag::Engine engine;

  ast::File parse(std::string text) {
    SourceId id = sources.add("a.recipe", std::move(text), SourceKind::file);
    ast::File file = parse::parse(sources, id, engine);
    EXPECT_FALSE(engine.hasErrors());
    return file;
  }
  const ast::Body& body(const ast::File& file) {
    return file[std::get<ast::RecipeDecl>(file.declarations[0].node).body];
  }
};

TEST_F(CommentsTest, HeaderEndsAtABlankLine) {
  ast::File file = parse("# one\n# two\n\n# three\nlet a = 1\n");
  EXPECT_EQ(file.header.leading, (Texts{"# one", "# two"}));
  EXPECT_EQ(file.declarations[0].comments.leading, Texts{"# three"});
  EXPECT_TRUE(file.declarations[0].comments.blankLineBefore);
}

TEST_F(CommentsTest, DocumentationIsNotAHeader) {
  ast::File file = parse("## About a.\nlet a = 1\n");
  EXPECT_TRUE(file.header.leading.empty());
  EXPECT_EQ(file.declarations[0].comments.leading, Texts{"## About a."});
}

TEST_F(CommentsTest, ItemsHaveLeadingAndTrailingOnes) {
  ast::File file = parse("recipe r {\n"
                         "  # before a\n"
                         "  a = 1 # behind a\n"
                         "\n"
                         "  b = 2, # behind b\n"
                         "  # closing\n"
                         "} # behind r\n"
                         "# the end\n");
  const ast::Body& items = body(file);
  EXPECT_EQ(items.items[0].comments.leading, Texts{"# before a"});
  EXPECT_EQ(items.items[0].comments.trailing, "# behind a");
  EXPECT_FALSE(items.items[0].comments.blankLineBefore);
  EXPECT_TRUE(items.items[1].comments.blankLineBefore);
  EXPECT_EQ(items.items[1].comments.trailing, "# behind b");
  EXPECT_EQ(items.closing.leading, Texts{"# closing"});
  EXPECT_EQ(file.declarations[0].comments.trailing, "# behind r");
  EXPECT_EQ(file.closing.leading, Texts{"# the end"});
}

TEST_F(CommentsTest, BlankLinesBetweenCommentsAreKept) {
  ast::File file = parse("recipe r {\n  # a\n\n  # b\n  x = 1\n}\n");
  EXPECT_EQ(body(file).items[0].comments.leading, (Texts{"# a", "", "# b"}));
}

TEST_F(CommentsTest, CommentsInsideAnExpressionMarkItsItem) {
  ast::File file = parse("recipe r {\n"
                         "  x = [\n    1, # one\n  ]\n"
                         "  y { # first\n    z = 1\n  }\n"
                         "}\n");
  const ast::Body& items = body(file);
  EXPECT_TRUE(items.items[0].comments.inner);
  EXPECT_FALSE(items.items[1].comments.inner);
  const auto& y = std::get<ast::Assignment>(items.items[1].node);
  EXPECT_EQ(file[y.body].items[0].comments.leading, Texts{"# first"});
}

} // namespace
