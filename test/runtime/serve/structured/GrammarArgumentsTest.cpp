// The options of structured output.

#include "runtime/serve/structured/GrammarArguments.h"

#include "runtime/cli/Read.h"
#include "test/runtime/Says.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include <unistd.h>

namespace reciperun::serve {
namespace {

/// The arguments of a call, and what is wrong with it or with its grammar.
std::string messageOf(std::vector<std::string> line) {
  GrammarArguments arguments;
  cli::Command command = {.name = "generate",
                          .options = describeGrammar(arguments)};
  command.check = [&] { return checkGrammar(arguments); };
  const cli::Program program = {
      .name = "reciperun", .commands = {command}, .version = {}};
  line.insert(line.begin(), "generate");
  if (auto error = cli::read(program, line).error)
    return error->message;
  const auto made = compileGrammar(arguments);
  if (!made)
    return made.message();
  return *made ? "compiled" : "no grammar";
}

class GrammarArgumentsTest : public testing::Test {
protected:
  GrammarArgumentsTest() { std::filesystem::create_directories(folder); }
  ~GrammarArgumentsTest() override { std::filesystem::remove_all(folder); }

  std::string write(const std::string& name, const std::string& text) {
    std::ofstream(folder / name) << text;
    return (folder / name).string();
  }

  std::filesystem::path folder =
      std::filesystem::path(testing::TempDir()) /
      ("grammar_arguments_" + std::to_string(::getpid()));
};

TEST_F(GrammarArgumentsTest, CompileOneGrammar) {
  EXPECT_EQ(messageOf({}), "no grammar");
  EXPECT_EQ(messageOf({"--regex", "[a-z]+"}), "compiled");
  EXPECT_EQ(messageOf({"--choice", "a", "--choice=b"}), "compiled");
  EXPECT_EQ(messageOf({"--json-schema", R"( {"type": "null"})"}), "compiled");
  EXPECT_EQ(messageOf({"--json-schema", "true"}), "compiled");
  EXPECT_EQ(messageOf({"--json-schema", write("s.json", "{}")}), "compiled");
  EXPECT_EQ(messageOf({"--grammar", write("g.gbnf", "root ::= \"a\"")}),
            "compiled");
}

TEST_F(GrammarArgumentsTest, ExcludeOneAnother) {
  EXPECT_EQ(messageOf({"--regex", "a", "--json-schema", "{}"}),
            "`--json-schema` and `--regex` exclude each other");
  EXPECT_EQ(messageOf({"--choice", "a", "--grammar", "x"}),
            "`--choice` and `--grammar` exclude each other");
}

TEST_F(GrammarArgumentsTest, FailuresNameOptionAndFile) {
  EXPECT_PRED2(says, messageOf({"--regex", "a("}),
               "`--regex`: column 2: `(` has no `)`");
  EXPECT_PRED2(says, messageOf({"--json-schema", R"({"type": "x"})"}),
               "`--json-schema`: `#/type` takes");
  EXPECT_PRED2(says, messageOf({"--json-schema", "nowhere.json"}),
               "`--json-schema`: cannot read `nowhere.json`");
  const std::string path = write("bad.gbnf", "root ::= x");
  EXPECT_PRED2(says, messageOf({"--grammar", path}),
               "`--grammar`: `" + path + "`: column 10: there is no rule `x`");
  EXPECT_PRED2(says, messageOf({"--json-schema", "false"}),
               "`--json-schema`: nothing matches");
}

} // namespace
} // namespace reciperun::serve
