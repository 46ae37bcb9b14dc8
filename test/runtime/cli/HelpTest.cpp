// The output of `--help`.

#include "runtime/cli/Help.h"
#include "runtime/cli/Options.h"

#include <gtest/gtest.h>

namespace reciperun::cli {
namespace {

std::vector<std::string> linesOf(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = text.find('\n', begin);
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

TEST(Help, PrintsACommand) {
  std::string style, file;
  bool quick = false;
  Command command = {
      .name = "draw",
      .synopsis = "FILE [options]",
      .summary = "draws a file",
      .details = "Draws FILE.\n\nTwice.",
      .moreUsage = {"mpirun tool draw FILE"},
      .options = {choice("--style", "STYLE", "how to draw:",
                         {{"thin", "thin", "thin lines"},
                          {"thick", "thick", "thick lines"}},
                         style),
                  text("--output-of-all-drawings", "OUT", "where to", file),
                  flag("--quick", "at once", quick)}};
  command.options[1].shortName = "-o";
  command.options[2].group = "for the impatient";
  EXPECT_EQ(helpOf(command, "tool draw"),
            "usage: tool draw FILE [options]\n"
            "       mpirun tool draw FILE\n"
            "\n"
            "Draws FILE.\n"
            "\n"
            "Twice.\n"
            "\n"
            "options:\n"
            "  --style=STYLE         how to draw:\n"
            "      thin              thin lines\n"
            "      thick             thick lines\n"
            "  -o, --output-of-all-drawings=OUT\n"
            "                        where to\n"
            "  -h, --help            print this text\n"
            "\n"
            "for the impatient:\n"
            "  --quick               at once\n");
}

TEST(Help, WrapsAt80Characters) {
  Command command = {.name = "draw"};
  bool value = false;
  for (int i = 0; i < 60; ++i)
    command.details += "word" + std::string(size_t(i % 7), 's') + " ";
  command.options = {flag("--long", command.details, value)};
  size_t longest = 0;
  for (const std::string& line : linesOf(helpOf(command, "tool draw")))
    longest = std::max(longest, line.size());
  EXPECT_LE(longest, 80u);
  EXPECT_GT(longest, 70u);
}

TEST(Help, ListsTheUsageOfSubcommands) {
  const Command command = {
      .name = "all",
      .synopsis = "COMMAND ARGUMENTS",
      .subcommands = {{.name = "a", .synopsis = "X", .summary = "does a"},
                      {.name = "b", .synopsis = "Y", .summary = "does b"}}};
  EXPECT_EQ(helpOf(command, "tool all"), "usage: tool all a X\n"
                                         "       tool all b Y\n"
                                         "\n"
                                         "commands:\n"
                                         "  a           does a\n"
                                         "  b           does b\n"
                                         "\n"
                                         "See `tool all COMMAND --help`.\n");
}

} // namespace
} // namespace reciperun::cli
