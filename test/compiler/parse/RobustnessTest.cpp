// Damaged input must give a message, in our words, and never a crash.
//
// Every text of the standard library is truncated, and has a piece removed or
// inserted, at positions from a generator with a fixed seed.

#include "compiler/diag/Render.h"
#include "compiler/parse/Parse.h"
#include "test/SourceRoot.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <random>
#include <regex>
#include <sstream>

using namespace recipec;

namespace {

std::vector<std::string> standardLibrary() {
  namespace fs = std::filesystem;
  std::vector<fs::path> paths;
  for (const auto& entry :
       fs::recursive_directory_iterator(RECIPEC_SOURCE_ROOT "/stdlib"))
    if (entry.path().extension() == ".recipe")
      paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> texts;
  for (const fs::path& path : paths) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    texts.push_back(text.str());
  }
  return texts;
}

struct Outcome {
  int errors;
  std::string messages;
};

Outcome parse(const std::string& text) {
  SourceMap sources;
  diag::Engine engine;
  SourceId id = sources.add("a.recipe", text, SourceKind::standardLibrary);
  parse::parse(sources, id, engine);
  return {engine.errors(), diag::render(engine, sources)};
}

void expectOurWords(const Outcome& outcome, const std::string& text) {
  static const std::regex foreign(
      "no viable|mismatched|extraneous|token recognition|<EOF>|antlr",
      std::regex::icase);
  std::string messages;
  // Excerpts repeat the input, so only the messages are checked.
  std::istringstream lines(outcome.messages);
  for (std::string line; std::getline(lines, line);)
    if (line.find(" | ") == std::string::npos)
      messages += line + "\n";
  EXPECT_FALSE(std::regex_search(messages, foreign)) << messages << text;
  EXPECT_EQ(messages.find("something else"), std::string::npos) << messages;
}

TEST(RobustnessTest, TheStandardLibraryParses) {
  std::vector<std::string> texts = standardLibrary();
  ASSERT_GT(texts.size(), 5u);
  for (const std::string& text : texts)
    EXPECT_EQ(parse(text).errors, 0) << text;
}

TEST(RobustnessTest, SurvivesCutsAndChanges) {
  static const std::vector<std::string> pieces = {
      "{", "}", "(",  ")", "[",   "]",   ",",       "=",     ":",        "\"",
      ".", "#", "1",  "|", "-",   "if ", "for ",    "else ", "\xC3\xA9", "\\",
      "'", ";", "\n", "x", "{x}", "==",  "recipe ", "\xFF",  "\t",       "`"};
  std::mt19937 random(1);
  auto below = [&](size_t bound) { return random() % bound; };
  for (const std::string& text : standardLibrary())
    for (int turn = 0; turn < 40; ++turn) {
      size_t at = below(text.size());
      std::string cut = text.substr(0, at);
      std::string removed = cut + text.substr(std::min(at + 1, text.size()));
      std::string inserted =
          cut + pieces[below(pieces.size())] + text.substr(at);
      for (const std::string& damaged : {cut, removed, inserted})
        expectOurWords(parse(damaged), damaged);
    }
}

TEST(RobustnessTest, DeepAndLongTextsAreDiagnosed) {
  auto repeat = [](std::string piece, int count) {
    std::string result;
    for (int i = 0; i < count; ++i)
      result += piece;
    return result;
  };
  for (std::string piece : {"(", "[", "{", "f(", "{a ", "[[", "if a then ",
                            "not ", "- ", "a + ", "\"{", "a.", "a(", "}"}) {
    Outcome outcome = parse("let x = " + repeat(piece, 5000));
    EXPECT_GE(outcome.errors, 1) << piece;
    EXPECT_LE(outcome.errors, 2) << outcome.messages;
    expectOurWords(outcome, piece);
  }
}

} // namespace
