// `--set PATH=VALUE`.

#include "compiler/parse/Parse.h"

#include <gtest/gtest.h>

using namespace recipec;

namespace {

struct OverrideTest : testing::Test {
  SourceMap sources;
  diag::Engine engine;

  std::optional<parse::Override> parse(std::string text) {
    SourceId id =
        sources.add("--set", std::move(text), SourceKind::commandLine);
    return parse::parseOverride(sources, id, engine);
  }
};

TEST_F(OverrideTest, SplitsPathAndValue) {
  auto made = parse("parallel.tp=4");
  ASSERT_TRUE(made);
  ASSERT_EQ(made->path.size(), 2u);
  EXPECT_EQ(made->path[0].text, "parallel");
  EXPECT_EQ(made->path[1].text, "tp");
  const ast::Expr& value = made->file[made->value];
  EXPECT_EQ(std::get<ast::IntLiteral>(value.node).value, 4);
  EXPECT_EQ(sources.text(value.range), "4");
}

TEST_F(OverrideTest, TakesAnyExpression) {
  EXPECT_TRUE(parse("a=\"text\""));
  EXPECT_TRUE(parse("a = [1, 2]"));
  EXPECT_TRUE(parse("optimizer = adamw { lr = 2e-5 }"));
  EXPECT_TRUE(parse("a = 2 * 16 + b.c"));
  EXPECT_FALSE(engine.hasErrors());
}

TEST_F(OverrideTest, RefusesWhatIsNotOneSetting) {
  for (const char* text :
       {"", "=", "a", "a=", "a=1 2", "a==1", "a{b=1}", "1=a", "a=1\nb=2",
        "a=\"x", "a=(1", "a=1)", "a=1 parsecs", "a=\xFF"}) {
    int before = engine.errors();
    EXPECT_FALSE(parse(text)) << text;
    EXPECT_EQ(engine.errors(), before + 1) << text;
  }
}

} // namespace
