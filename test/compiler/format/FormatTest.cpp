// Formatting keeps the tree and the comments, and is idempotent.

#include "compiler/format/Format.h"
#include "compiler/ast/Print.h"
#include "compiler/parse/Parse.h"
#include "test/SourceRoot.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>

using namespace recipec;

namespace {

struct Parsed {
  std::string tree;
  std::string formatted;
};

bool parses(const std::string& text) {
  SourceMap sources;
  diag::Engine engine;
  parse::parse(sources,
               sources.add("a.recipe", text, SourceKind::standardLibrary),
               engine);
  return !engine.hasErrors();
}

Parsed parse(const std::string& text) {
  SourceMap sources;
  diag::Engine engine;
  SourceId id = sources.add("a.recipe", text, SourceKind::standardLibrary);
  ast::File file = parse::parse(sources, id, engine);
  EXPECT_FALSE(engine.hasErrors()) << text;
  static const std::regex places(" [0-9]+:[0-9]+-[0-9]+:[0-9]+");
  return {std::regex_replace(ast::print(file, sources), places, ""),
          format::format(file, sources)};
}

std::vector<std::string> comments(const std::string& text) {
  std::vector<std::string> result;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);)
    if (size_t at = line.find('#'); at != std::string::npos)
      result.push_back(line.substr(at, line.find_last_not_of(" \r") + 1 - at));
  return result;
}

void expectKept(const std::string& text) {
  Parsed before = parse(text);
  Parsed after = parse(before.formatted);
  EXPECT_EQ(before.tree, after.tree);
  EXPECT_EQ(before.formatted, after.formatted);
  EXPECT_EQ(comments(text), comments(before.formatted));
}

TEST(FormatTest, KeepsEveryRecipeOfTheProject) {
  namespace fs = std::filesystem;
  int count = 0;
  for (const char* folder : {"/stdlib", "/examples", "/test"})
    for (const auto& entry : fs::recursive_directory_iterator(
             RECIPEC_SOURCE_ROOT + std::string(folder))) {
      std::string name = entry.path().filename();
      if (entry.path().extension() != ".recipe" || name.starts_with("fail_"))
        continue;
      SCOPED_TRACE(entry.path());
      std::ostringstream text;
      text << std::ifstream(entry.path()).rdbuf();
      if (!parses(text.str()))
        continue; // the snippet shows a message
      expectKept(text.str());
      ++count;
    }
  EXPECT_GT(count, 100);
}

TEST(FormatTest, BreaksWhatDoesNotFit) {
  std::string call = "let a = f(";
  for (int i = 0; i < 20; ++i)
    call += "argument_" + std::to_string(i) + ", ";
  expectKept(call + ")\n");
  expectKept("let a = [" + std::string(100, 'x') + ", " +
             std::string(100, 'y') + "]\n");
  std::string sum = "let a = b";
  for (int i = 0; i < 20; ++i)
    sum += " + operand_" + std::to_string(i) + " * 2";
  expectKept(sum + "\n");
  std::istringstream lines(parse(sum + "\n").formatted);
  for (std::string line; std::getline(lines, line);)
    EXPECT_LE(line.size(), 80u);
}

TEST(FormatTest, AlignsNoSettingBeyondItsLine) {
  // `parallel` fits on its line, but not when it is aligned with `precision`.
  std::string text =
      "recipe a {\n  cluster { ranks = 16 }\n  parallel { cp = 2, "
      "pp = 2, vp = 2, shard = \"parameters\", shard_instances "
      "= 2 }\n  precision { compute = \"fp8\" }\n}\n";
  expectKept(text);
  EXPECT_EQ(parse(text).formatted, text);
}

TEST(FormatTest, KeepsBracketsThatMatter) {
  for (const char* text :
       {"a - (b - c)", "(a + b) * c", "-(a + b)", "not (a and b)",
        "(not a) == b", "(a -> b) -> c", "(a < b) == c",
        "(if a then b else c)(d)", "(a + b).c", "a + (if b then c else d)",
        "(0..3)..4", "- -a", "if (if a then b else c) then d else e",
        "(-a)[0]"}) {
    SCOPED_TRACE(text);
    expectKept("let x = " + std::string(text) + "\n");
  }
  EXPECT_EQ(parse("let x = ((a) * (b)) + (c)\n").formatted,
            "let x = a * b + c\n");
}

TEST(FormatTest, KeepsTheBraceOfAHeaderApart) {
  expectKept("recipe a amends (b { c = 1 }) {\n  d = 2\n}\n");
  expectKept("block f(x) {\n  for i in 0..(g { n = 1 }) {\n  }\n}\n");
}

} // namespace
