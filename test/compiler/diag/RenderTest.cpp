// Diagnostics as text and as JSON.

#include "compiler/diag/Render.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

using namespace recipec;
using namespace recipec::diag;

namespace {

struct RenderTest : testing::Test {
  SourceMap sources;
  Engine engine;

  SourceId file(std::string text) {
    return sources.add("a.recipe", std::move(text), SourceKind::file);
  }
  std::string text(RenderOptions options = {}) {
    return render(engine, sources, options);
  }
};

TEST_F(RenderTest, PrintsTheHouseShape) {
  SourceId id = file("recipe a {\n  parallel { tp = 4, pp = 3 }\n}\n");
  SourceId library =
      sources.add("std/schema/parallel.recipe", "\n\n  require x\n",
                  SourceKind::standardLibrary);
  SourceId argument =
      sources.add("--set", "cluster.ranks=16", SourceKind::commandLine);
  engine
      .report(Kind::RequireFailed, {id, 32, 38},
              "`tp` * `pp` = 12 does not divide the 16 ranks")
      .label("the degree")
      .note("required by `require x`", {library, 4, 11})
      .note("`ranks` is 16", {argument, 14, 16})
      .note("in this recipe", {id, 0, 8})
      .note("a remark")
      .help("change `pp` to 2 or 4");
  EXPECT_EQ(
      text(),
      R"(error: `tp` * `pp` = 12 does not divide the 16 ranks [RequireFailed]
  --> a.recipe:2:22
 2 |   parallel { tp = 4, pp = 3 }
   |                      ^^^^^^ the degree
note: required by `require x`, std/schema/parallel.recipe:3
note: `ranks` is 16, `--set cluster.ranks=16`
note: in this recipe
  --> a.recipe:1:1
 1 | recipe a {
   | ^^^^^^^^
note: a remark
help: change `pp` to 2 or 4
)");
}

TEST_F(RenderTest, ShowsTheCommandLine) {
  SourceId id = sources.add("--set", "parallel.tp=x", SourceKind::commandLine);
  engine.report(Kind::UnknownName, {id, 12, 13}, "`x` is not declared");
  EXPECT_EQ(text(), R"(error: `x` is not declared [UnknownName]
 --> the command line
  | --set parallel.tp=x
  |                   ^
)");
}

TEST_F(RenderTest, AlignsTabsAndWideCharacters) {
  SourceId id = file("\tx = \"\xE4\xBD\xA0\" y");
  engine.report(Kind::UnknownName, {id, 11, 12}, "message");
  EXPECT_EQ(text(), "error: message [UnknownName]\n"
                    "  --> a.recipe:1:10\n"
                    " 1 |     x = \"\xE4\xBD\xA0\" y\n"
                    "   |              ^\n");
}

TEST_F(RenderTest, KnowsTheWidthsOfEmojiAndCombiningMarks) {
  // U+2705 takes two columns, and U+0E31 combines with the letter before it.
  SourceId id = file("\xE2\x9C\x85 \xE0\xB8\x81\xE0\xB8\xB1 y");
  engine.report(Kind::UnknownName, {id, 11, 12}, "message");
  EXPECT_EQ(text(), "error: message [UnknownName]\n"
                    "  --> a.recipe:1:6\n"
                    " 1 | \xE2\x9C\x85 \xE0\xB8\x81\xE0\xB8\xB1 y\n"
                    "   |      ^\n");
}

TEST_F(RenderTest, ShowsInvisibleCharactersAndThoseThatTurnTheText) {
  // A zero width space, a right-to-left override, and CSI as one code point.
  SourceId id = file("a\xE2\x80\x8B \xE2\x80\xAE \xC2\x9B y");
  engine.report(Kind::UnknownName, {id, 1, 4}, "message");
  EXPECT_EQ(text(), "error: message [UnknownName]\n"
                    "  --> a.recipe:1:2\n"
                    " 1 | a? ? ? y\n"
                    "   |  ^\n");
}

TEST_F(RenderTest, HidesBytesThatAreNotText) {
  SourceId id = file("a\xFF\x01z");
  engine.report(Kind::NotUtf8, {id, 1, 2}, "message");
  EXPECT_EQ(text(), "error: message [NotUtf8]\n"
                    "  --> a.recipe:1:2\n"
                    " 1 | a??z\n"
                    "   |  ^\n");
}

TEST_F(RenderTest, MarksAnEmptyRangeAndTheFirstLineOfALongOne) {
  SourceId id = file("ab\ncd\n");
  engine.report(Kind::ExpectedToken, {id, 2, 2}, "empty");
  engine.report(Kind::ExpectedToken, {id, 1, 5}, "two lines");
  EXPECT_EQ(text(), R"(error: empty [ExpectedToken]
  --> a.recipe:1:3
 1 | ab
   |   ^

error: two lines [ExpectedToken]
  --> a.recipe:1:2
 1 | ab
   |  ^
)");
}

TEST_F(RenderTest, CutsLongLines) {
  SourceId id = file(std::string(500, 'a') + "X" + std::string(500, 'b'));
  engine.report(Kind::ExpectedToken, {id, 500, 501}, "message");
  std::string shown = text({.columns = 60});
  EXPECT_NE(shown.find(" 1 | ...aaa"), std::string::npos);
  EXPECT_NE(shown.find("bbb...\n"), std::string::npos);
  size_t lineBegin = shown.find(" 1 | ");
  size_t caretBegin = shown.find("   | ");
  EXPECT_EQ(shown.find('X') - lineBegin, shown.find('^') - caretBegin);
}

TEST_F(RenderTest, MarksNeighbouringLinesInOneExcerpt) {
  SourceId id = file("let width = 1\nlet width = 2\n");
  engine.report(Kind::DuplicateName, {id, 18, 23}, "declared twice")
      .label("again here")
      .label({id, 4, 9}, "here first");
  EXPECT_EQ(text(), R"(error: declared twice [DuplicateName]
  --> a.recipe:2:5
 1 | let width = 1
   |     ----- here first
 2 | let width = 2
   |     ^^^^^ again here
)");
}

TEST_F(RenderTest, ShowsALineBetweenAndElidesMore) {
  SourceId id = file("a\nb\nc\nd\ne\nf\ng\nh\ni\nj\n");
  engine.report(Kind::Recursion, {id, 0, 1}, "message")
      .label({id, 18, 19}, "far")
      .label({id, 4, 5}, "near");
  EXPECT_EQ(text(), R"(error: message [Recursion]
   --> a.recipe:1:1
  1 | a
    | ^
  2 | b
  3 | c
    | - near
...
 10 | j
    | - far
)");
}

TEST_F(RenderTest, HangsTheTextsOfOneLine) {
  SourceId id = file("parallel { dp = 2, tp = 3, cp = 4 }\n");
  engine.report(Kind::RequireFailed, {id, 19, 25}, "message")
      .label("the degree")
      .label({id, 11, 17}, "`dp` is 2")
      .label({id, 27, 33}, "`cp` is 4");
  EXPECT_EQ(text(), R"(error: message [RequireFailed]
  --> a.recipe:1:20
 1 | parallel { dp = 2, tp = 3, cp = 4 }
   |            ------  ^^^^^^  ------ `cp` is 4
   |            |       |
   |            |       the degree
   |            `dp` is 2
)");
}

TEST_F(RenderTest, StacksTextsOfOnePlace) {
  SourceId id = file("a + b\n");
  engine.report(Kind::RequireFailed, {id, 0, 5}, "message")
      .label("the sum")
      .label({id, 0, 1}, "`a` is 1");
  EXPECT_EQ(text(), R"(error: message [RequireFailed]
  --> a.recipe:1:1
 1 | a + b
   | ^^^^^
   | |
   | `a` is 1
   | the sum
)");
}

TEST_F(RenderTest, GivesOtherSourcesExcerptsOfTheirOwn) {
  SourceId id = file("x = 1\n");
  SourceId other = sources.add("b.recipe", "\ny = 2\n", SourceKind::file);
  SourceId argument =
      sources.add("--set", "cluster.ranks=16", SourceKind::commandLine);
  SourceId library =
      sources.add("std/a.recipe", "z = 3\n", SourceKind::standardLibrary);
  engine.report(Kind::RequireFailed, {id, 0, 5}, "message")
      .label({other, 1, 6}, "`y` is 2")
      .label({argument, 0, 16}, "`ranks` is 16")
      .label({library, 0, 5}, "`z` is 3")
      .label(SourceRange{}, "no place");
  EXPECT_EQ(text(), R"(error: message [RequireFailed]
  --> a.recipe:1:1
 1 | x = 1
   | ^^^^^
  --> b.recipe:2:1
 2 | y = 2
   | ----- `y` is 2
 --> the command line
  | --set cluster.ranks=16
  |       ---------------- `ranks` is 16
note: `z` is 3, std/a.recipe:1
note: no place
)");
}

TEST_F(RenderTest, NeverLosesAMarkOutsideOfTheWindow) {
  for (uint32_t length : {200, 20000}) {
    Engine engine;
    SourceId id = file("X" + std::string(length, 'a') + "Y");
    engine.report(Kind::RequireFailed, {id, length + 1, length + 2}, "message")
        .label({id, 0, 1}, "far");
    std::string shown = render(engine, sources, {.columns = 60});
    EXPECT_NE(shown.find("aaY\n"), std::string::npos);
    EXPECT_NE(shown.find("-"), std::string::npos);
    EXPECT_NE(shown.find("far"), std::string::npos);
    EXPECT_NE(shown.find("^"), std::string::npos);
  }
}

TEST_F(RenderTest, CutsALongLineBetweenMarkedOnes) {
  SourceId id = file("a\n" + std::string(500, 'b') + "\nc\n");
  engine.report(Kind::RequireFailed, {id, 0, 1}, "message")
      .label({id, 503, 504}, "other");
  std::string shown = text({.columns = 60});
  EXPECT_NE(shown.find(" 2 | bbb"), std::string::npos);
  EXPECT_NE(shown.find("bbb...\n"), std::string::npos);
}

TEST_F(RenderTest, BreaksTextsAtTheTerminalsWidth) {
  SourceId id = file("\nparallel { tp = 3, dp = 2 }\n");
  engine
      .report(Kind::RequireFailed, {id, 12, 18},
              "the degrees `dp * cp * tp * pp` do not multiply to the ranks")
      .label("this is the degree of tensor parallelism")
      .note("a note that is a little too long for the terminal")
      .help("short");
  std::string shown = text({.columns = 40, .wraps = true});
  EXPECT_EQ(shown, R"(error: the degrees `dp * cp * tp * pp`
       do not multiply to the ranks
       [RequireFailed]
  --> a.recipe:2:12
 2 | parallel { tp = 3, dp = 2 }
   |            ^^^^^^
   |            |
   |            this is the degree of
   |            tensor parallelism
note: a note that is a little too long
      for the terminal
help: short
)");
}

TEST_F(RenderTest, KeepsAMessageOnOneLineElsewhere) {
  std::string message(300, 'a');
  engine.report(Kind::FileNotReadable, {}, message + " " + message);
  EXPECT_EQ(text(),
            "error: " + message + " " + message + " [FileNotReadable]\n");
}

TEST_F(RenderTest, KeepsTheUsersTextFromSteeringTheTerminal) {
  SourceId id = file("a\n");
  engine.report(Kind::RequireFailed, {id, 0, 1}, "one\ntwo \x1b[31m")
      .label("\x07")
      .help("a\rb");
  EXPECT_EQ(text(), R"(error: one
       two ?[31m [RequireFailed]
  --> a.recipe:1:1
 1 | a
   | ^ ?
help: a?b
)");
}

TEST_F(RenderTest, ColoursOnlyWhenAsked) {
  SourceId id = file("a");
  engine.report(Kind::ExpectedToken, {id, 0, 1}, "message");
  EXPECT_EQ(text().find('\x1b'), std::string::npos);
  EXPECT_NE(text({.colour = true}).find("\x1b[1;31merror:"), std::string::npos);
}

TEST_F(RenderTest, WorksWithoutAPlace) {
  engine.report(Kind::FileNotReadable, {}, "cannot read `x`");
  EXPECT_EQ(text(), "error: cannot read `x` [FileNotReadable]\n");
}

TEST_F(RenderTest, WritesJson) {
  SourceId id = file("abc\n");
  engine.report(Kind::UnknownUnit, {id, 1, 2}, "message \xFF")
      .note("remark")
      .help("advice")
      .label({id, 0, 1}, "beside")
      .fixIt({id, 1, 2}, "B")
      .fixIt({id, 0, 1}, "C", Applicability::safe);
  auto json = nlohmann::json::parse(renderJson(engine, sources));
  ASSERT_EQ(json.size(), 1u);
  EXPECT_EQ(json[0]["kind"], "UnknownUnit");
  EXPECT_EQ(json[0]["severity"], "error");
  EXPECT_EQ(json[0]["place"]["line"], 1);
  EXPECT_EQ(json[0]["place"]["column"], 2);
  EXPECT_EQ(json[0]["place"]["end_column"], 3);
  EXPECT_TRUE(json[0]["notes"][0]["place"].is_null());
  EXPECT_EQ(json[0]["helps"][0], "advice");
  EXPECT_EQ(json[0]["labels"][0]["text"], "beside");
  EXPECT_EQ(json[0]["labels"][0]["place"]["column"], 1);
  EXPECT_EQ(json[0]["fix_its"][0]["replacement"], "B");
  EXPECT_EQ(json[0]["fix_its"][0]["safe"], false);
  EXPECT_EQ(json[0]["fix_its"][1]["safe"], true);
}

TEST_F(RenderTest, SortsByPlace) {
  SourceId first = file("abc"), second = file("abc");
  engine.report(Kind::ExpectedToken, {second, 0, 1}, "c");
  engine.report(Kind::ExpectedToken, {first, 1, 2}, "b");
  engine.report(Kind::ExpectedToken, {first, 0, 1}, "a");
  engine.sortByPlace();
  EXPECT_EQ(engine.all()[0].message, "a");
  EXPECT_EQ(engine.all()[1].message, "b");
  EXPECT_EQ(engine.all()[2].message, "c");
  EXPECT_EQ(engine.errors(), 3);
}

TEST_F(RenderTest, ArrangesAndLeavesOneOfWhatWasFoundTwice) {
  SourceId id = file("abc");
  for (int i = 0; i < 2; ++i) {
    engine.report(Kind::ExpectedToken, {id, 1, 2}, "b");
    engine.report(Kind::ExpectedToken, {id, 1, 2}, "another");
    engine.report(Kind::ExpectedToken, {id, 0, 1}, "a");
  }
  engine.arrange();
  ASSERT_EQ(engine.all().size(), 3u);
  EXPECT_EQ(engine.all()[0].message, "a");
  EXPECT_EQ(engine.all()[1].message, "b");
  EXPECT_EQ(engine.all()[2].message, "another");
  EXPECT_EQ(engine.errors(), 3);
}

} // namespace
