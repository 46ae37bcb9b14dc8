// Arguments are read into values or give a message.

#include "runtime/cli/Read.h"
#include "runtime/cli/Options.h"

#include <gtest/gtest.h>

namespace reciperun::cli {
namespace {

using Texts = std::vector<std::string>;

/// A program with two commands, one of which has subcommands.
struct Tool {
  Texts files, passedOn, sets, nexts, listed;
  std::string output;
  std::string style = "none";
  bool json = false, all = false;
  Program program;
  Reading reading; // result of the last call

  Tool() {
    Option out = text("--output", "OUT", "", output);
    out.shortName = "-o";
    const Option set = {.name = "--set",
                        .valueName = "PATH=VALUE",
                        .repeats = true,
                        .store = [this](const Given& given) -> Check {
                          sets.push_back(given.value);
                          nexts.push_back(given.next);
                          return std::nullopt;
                        }};
    program = {.name = "tool",
               .purpose = "Draws.",
               .commands =
                   {{.name = "draw",
                     .synopsis = "FILE...",
                     .options = {out, set, flag("--json", "", json),
                                 choice("--style", "STYLE", "",
                                        {{"thin", "1", ""}, {"thick", "2", ""}},
                                        style)},
                     .operands = {1, 2, "a file", &files}},
                    {.name = "run",
                     .synopsis = "FILE -- REST",
                     .operands = {1, 1, "a file", &files},
                     .passedOn = &passedOn},
                    {.name = "keep",
                     .synopsis = "",
                     .subcommands = {{.name = "list",
                                      .synopsis = "DIR",
                                      .options = {flag("--all", "", all)},
                                      .operands = {0, 9, "", &listed}}}}},
               .foreignCommands = {{"paint", "tool draw"}},
               .version = [] { return std::string("tool 1\n"); }};
  }

  /// The two lines of the message for a wrong call; empty for a valid one.
  std::string operator()(const Texts& arguments) {
    reading = read(program, arguments);
    return reading.error ? toText(*reading.error) : "";
  }
};

TEST(Read, TakesOptionsAmongOperands) {
  Tool tool;
  EXPECT_EQ(tool({"draw", "a", "--output", "x", "--json", "b", "--set=p=1",
                  "--set", "q=2"}),
            "");
  EXPECT_EQ(tool.reading.command, &tool.program.commands[0]);
  EXPECT_EQ(tool.files, (Texts{"a", "b"}));
  EXPECT_EQ(tool.output, "x");
  EXPECT_EQ(tool.sets, (Texts{"p=1", "q=2"}));
  EXPECT_TRUE(tool.json);
}

TEST(Read, TakesShortOptionsInAllForms) {
  for (const Texts& form : {Texts{"-o", "x"}, Texts{"-o=x"}, Texts{"-ox"}}) {
    Tool tool;
    Texts line = {"draw", "a"};
    line.insert(line.end(), form.begin(), form.end());
    EXPECT_EQ(tool(line), "");
    EXPECT_EQ(tool.output, "x");
  }
}

TEST(Read, TakesAnyTextAsAValue) {
  for (const char* value :
       {"-o", "--json", "--", "draw", "[a,b]", "--set=", "="}) {
    Tool tool;
    EXPECT_EQ(tool({"draw", "--set", value, "a"}), "") << value;
    EXPECT_EQ(tool.sets, (Texts{value}));
    EXPECT_EQ(tool.nexts, (Texts{"a"}));
  }
}

TEST(Read, TakesAnyTextAsAnOperand) {
  for (const char* value : {"-", "draw", "[a,b]", "", "a=", "/x:y"}) {
    Tool tool;
    EXPECT_EQ(tool({"draw", value}), "") << value;
    EXPECT_EQ(tool.files, (Texts{value}));
  }
}

TEST(Read, TakesOperandsBehindTwoDashes) {
  Tool tool;
  EXPECT_EQ(tool({"draw", "--", "--json", "--"}), "");
  EXPECT_EQ(tool.files, (Texts{"--json", "--"}));
  EXPECT_FALSE(tool.json);
}

TEST(Read, PassesOnWhatStandsBehindTwoDashes) {
  Tool tool;
  EXPECT_EQ(tool({"run", "a", "--", "--json", "--", "-h"}), "");
  EXPECT_EQ(tool.files, (Texts{"a"}));
  EXPECT_EQ(tool.passedOn, (Texts{"--json", "--", "-h"}));
}

TEST(Read, FindsSubcommands) {
  Tool tool;
  EXPECT_EQ(tool({"keep", "list", "list", "draw", "--all"}), "");
  EXPECT_EQ(tool.reading.command, &tool.program.commands[2].subcommands[0]);
  EXPECT_EQ(tool.listed, (Texts{"list", "draw"}));
  EXPECT_TRUE(tool.all);
}

TEST(Read, GivesTexts) {
  Tool tool;
  for (const Texts& line :
       {Texts{"--help"}, Texts{"-h"}, Texts{"help"}, Texts{"keep", "--help"},
        Texts{"draw", "--wrong", "--help"}, Texts{"help", "keep", "list"}}) {
    EXPECT_EQ(tool(line), "");
    EXPECT_TRUE(tool.reading.text.starts_with("usage: tool "));
  }
  EXPECT_EQ(tool({"--version"}), "");
  EXPECT_EQ(tool.reading.text, "tool 1\n");
}

TEST(Read, ChecksValues) {
  Tool tool;
  EXPECT_EQ(tool({"draw", "a", "--style=thick"}), "");
  EXPECT_EQ(tool.style, "2");
  EXPECT_EQ(tool({"draw", "a", "--style=thik"}),
            "error: `--style` is `thin` or `thick`, not `thik`\n"
            "help: did you mean `thin`?\n");
  EXPECT_EQ(tool({"draw", "a", "--json=yes"}),
            "error: `--json` takes no value\n"
            "help: write `--json` alone\n");
  EXPECT_EQ(tool({"draw", "a", "-o", "x", "--output=y"}),
            "error: `--output` is given twice\n"
            "help: leave one of them out\n");
}

TEST(Read, NamesTheOptionThatLacksAValue) {
  Tool tool;
  for (const Texts& line :
       {Texts{"draw", "a", "--output"}, Texts{"draw", "a", "-o"},
        Texts{"draw", "--output=", "a"}, Texts{"draw", "-o=", "a"},
        Texts{"draw", "-o", "", "a"}})
    EXPECT_EQ(tool(line), "error: `--output` needs a value\n"
                          "help: write `--output=OUT`\n");
}

TEST(Read, CountsOperands) {
  Tool tool;
  EXPECT_EQ(tool({"draw"}), "error: `tool draw` needs a file\n"
                            "help: usage: tool draw FILE...\n");
  EXPECT_EQ(tool({"draw", "a", "b", "c"}),
            "error: `tool draw` takes 2 arguments, not 3: `c` is too many\n"
            "help: leave it out, or call `tool draw` once for each\n");
}

TEST(Read, NamesUnknownOptions) {
  Tool tool;
  EXPECT_EQ(tool({"draw", "a", "--jsn=1"}),
            "error: `tool draw` has no option `--jsn`\n"
            "help: did you mean `--json`?\n");
  EXPECT_EQ(tool({"draw", "a", "--js"}), // the beginning of a name
            "error: `tool draw` has no option `--js`\n"
            "help: did you mean `--json`?\n");
  EXPECT_EQ(
      tool({"draw", "a", "--keep"}), // and not `--help`
      "error: `tool draw` has no option `--keep`\n"
      "help: its options are `--output`, `--set`, `--json` and `--style`\n");
  EXPECT_EQ(tool({"draw", "a", "--hlep"}),
            "error: `tool draw` has no option `--hlep`\n"
            "help: did you mean `--help`?\n");
  EXPECT_EQ(
      tool({"draw", "a", "-xo"}),
      "error: `tool draw` has no option `-xo`\n"
      "help: its options are `--output`, `--set`, `--json` and `--style`\n");
  EXPECT_EQ(tool({"draw", "a", "--all"}),
            "error: `tool draw` has no option `--all`\n"
            "help: that is an option of `tool keep list`\n");
  EXPECT_EQ(tool({"--versio"}), "error: `tool` has no option `--versio`\n"
                                "help: did you mean `--version`?\n");
}

TEST(Read, FindsOptionsByTheirDescriptions) {
  Tool tool;
  std::vector<Option>& options = tool.program.commands[0].options;
  options.push_back(text("--pen", "PEN", "the width of lines", tool.output));
  EXPECT_EQ(tool({"draw", "a", "--line-widths=2"}),
            "error: `tool draw` has no option `--line-widths`\n"
            "help: the nearest by its description is `--pen=PEN`: the width of "
            "lines\n");
  // What nothing describes is the program's, or else all are listed.
  EXPECT_NE(tool({"draw", "a", "--zebra"}).find("its options are"),
            std::string::npos);
  tool.program.adviseLast = [](const Command& command,
                               const UnknownOption& option) {
    return option.name + " is not of " + command.name;
  };
  EXPECT_EQ(tool({"draw", "a", "--zebra"}),
            "error: `tool draw` has no option `--zebra`\n"
            "help: --zebra is not of draw\n");
  EXPECT_EQ(tool({"draw", "a", "--jsn"}), // a slip first
            "error: `tool draw` has no option `--jsn`\n"
            "help: did you mean `--json`?\n");
}

TEST(Read, AsksTheProgramForAdvice) {
  Tool tool;
  tool.program.advise = [](const Command& command,
                           const UnknownOption& option) {
    return "no " + option.name + " of `" + option.value + "` in " +
           command.name;
  };
  EXPECT_EQ(tool({"draw", "a", "--jsn"}),
            "error: `tool draw` has no option `--jsn`\n"
            "help: no --jsn of `` in draw\n");
  for (const Texts& form : {Texts{"--jsn=2"}, Texts{"--jsn", "2"}}) {
    Texts line = {"draw", "a"};
    line.insert(line.end(), form.begin(), form.end());
    EXPECT_EQ(tool(line), "error: `tool draw` has no option `--jsn`\n"
                          "help: no --jsn of `2` in draw\n");
  }
  tool.program.adviseCommand = [](const std::string& word) {
    return "no " + word;
  };
  EXPECT_EQ(tool({"a.txt"}), "error: there is no command `a.txt`\n"
                             "help: no a.txt\n");
}

TEST(Read, AsksTheProgramAboutOperands) {
  Tool tool;
  tool.program.refuseOperand = [](const Command&,
                                  const std::string& operand) -> Check {
    if (operand != "a=b")
      return std::nullopt;
    return UsageError{"`a=b` is no file", "leave it out"};
  };
  EXPECT_EQ(tool({"draw", "a"}), "");
  EXPECT_EQ(tool({"draw", "a", "a=b"}), "error: `a=b` is no file\n"
                                        "help: leave it out\n");
}

TEST(Read, RefusesAddressesUnlessTheyAreTaken) {
  Tool tool;
  const std::string help =
      " takes paths of this machine alone\n"
      "help: name a path, and copy between it and the store, say by `aws s3 "
      "cp`\n";
  EXPECT_EQ(tool({"draw", "s3://b/a"}),
            "error: `s3://b/a` is an address, and `tool draw`" + help);
  EXPECT_EQ(tool({"draw", "a", "--output=s3://b/a"}),
            "error: `s3://b/a` is an address, and `--output`" + help);
  EXPECT_EQ(tool({"draw", "a", "--set", "s3://b/a"}), ""); // takes no path
  Command& draw = tool.program.commands[0];
  draw.operands.takeAddresses = true;
  draw.options[0] = pathOrAddress("--output", "OUT", "", tool.output);
  EXPECT_EQ(tool({"draw", "s3://b/a", "--output=s3://b/c"}), "");
  EXPECT_EQ(tool.files, (Texts{"s3://b/a"}));
  EXPECT_EQ(tool.output, "s3://b/c");
}

TEST(Read, NamesUnknownCommands) {
  Tool tool;
  EXPECT_EQ(tool({"darw", "a", "--wrong"}),
            "error: there is no command `darw`\n"
            "help: did you mean `draw`?\n");
  EXPECT_EQ(tool({"paint", "--help"}), "error: there is no command `paint`\n"
                                       "help: that is `tool draw`\n");
  EXPECT_EQ(tool({"keep", "runs/a", "--all"}),
            "error: `tool keep` has no command `runs/a`\n"
            "help: a command comes first, `list`: `tool keep list runs/a`\n");
  EXPECT_EQ(tool({"keep", "everything"}),
            "error: `tool keep` has no command `everything`\n"
            "help: its one command is `tool keep list DIR`\n");
  EXPECT_EQ(tool({"keep", "lst"}), "error: `tool keep` has no command `lst`\n"
                                   "help: did you mean `list`?\n");
  EXPECT_EQ(tool({"keep"}), "error: `tool keep` needs a command: `list`\n"
                            "help: see `tool keep --help`\n");
}

TEST(Read, ChecksWhatStandsTogether) {
  Tool tool;
  tool.program.commands[0].check = [&tool]() -> Check {
    if (tool.json == tool.files.empty())
      return std::nullopt;
    return UsageError{"no files of JSON"};
  };
  EXPECT_EQ(tool({"draw", "a", "--json"}), "error: no files of JSON\n"
                                           "help: see `tool draw --help`\n");
}

} // namespace
} // namespace reciperun::cli
