// Grammars as llama.cpp writes them.

#include "test/runtime/Says.h"
#include "test/runtime/grammar/Walk.h"

#include <gtest/gtest.h>

namespace reciperun::grammar {
namespace {

TEST(Gbnf, ReadsLiteralsClassesAndQuantifiers) {
  const Compiled made = gbnf("root ::= \"a\" [b-d]+ [^x-z\\n]? \"\\x41\\u00e9\""
                             " (\"1\" | \"2\"){2,3}");
  ASSERT_EQ(made.refusal, "");
  EXPECT_TRUE(made.takes("abAé12"));
  EXPECT_TRUE(made.takes("abcdbAé222"));
  EXPECT_TRUE(made.takes("ab日Aé12"));
  EXPECT_FALSE(made.takes("abxAé12"));
  EXPECT_FALSE(made.takes("abAé1"));
  EXPECT_FALSE(made.takes("abAé1212"));
  EXPECT_FALSE(made.takes("aAé12"));
}

TEST(Gbnf, ReadsRecursiveRules) {
  const Compiled made = gbnf(R"gbnf(# sums in parentheses
root  ::= expr "\n"
expr  ::= term ([-+*/] term)*
term  ::= ident | num | "(" ws expr ")" ws
ident ::= [a-z] [a-z0-9_]* ws
num   ::= [0-9]+ ws
ws    ::= [ \t\n]*
)gbnf");
  ASSERT_EQ(made.refusal, "");
  EXPECT_TRUE(made.takes("a +1\n"));
  EXPECT_TRUE(made.takes("(a +((b)*2)) /c \n"));
  EXPECT_FALSE(made.takes("(a + 1\n"));
  EXPECT_FALSE(made.begins("a)"));
}

TEST(Gbnf, RulesGoOnBehindGroupsAndBars) {
  const Compiled made =
      gbnf("root ::= (\n  \"a\" # one\n  other\n) |\n  \"c\"\n"
           "  | \"d\"\nother ::= \"b\" |\nlast ::= \"e\"\n");
  ASSERT_EQ(made.refusal, "");
  EXPECT_TRUE(made.takes("ab"));
  EXPECT_TRUE(made.takes("a"));
  EXPECT_TRUE(made.takes("c"));
  EXPECT_TRUE(made.takes("d"));
}

TEST(Gbnf, RightRecursionNeedsNoStack) {
  const Compiled made =
      gbnf("root ::= item root | item\nitem ::= \"a\" | \"b\" item");
  ASSERT_EQ(made.refusal, "");
  Matcher matcher(made.automaton);
  for (int i = 0; i < 10'000; ++i)
    ASSERT_TRUE(matcher.acceptBytes("ba").isOk());
  EXPECT_TRUE(matcher.isComplete());
  EXPECT_LT(matcher.stack().size(), 100u);
}

TEST(Gbnf, DeepNestingKeepsOneStack) {
  const Compiled made = gbnf("root ::= \"(\" root \")\" | \"x\"");
  ASSERT_EQ(made.refusal, "");
  const std::string open(20'000, '('), close(20'000, ')');
  EXPECT_TRUE(made.takes(open + "x" + close));
  EXPECT_FALSE(made.takes(open + "x" + close + ")"));
  EXPECT_FALSE(made.takes(open + "x" + close.substr(1)));
}

TEST(Gbnf, NullableRulesMayStandAnywhere) {
  const Compiled made = gbnf("root ::= e e \"a\" e n\ne ::= n n |\nn ::= "
                             "\"b\"*");
  ASSERT_EQ(made.refusal, "");
  EXPECT_TRUE(made.takes("a"));
  EXPECT_TRUE(made.takes("bbabbb"));
  EXPECT_FALSE(made.takes("bb"));
}

TEST(Gbnf, FailuresNameTheirPlace) {
  const std::pair<const char*, const char*> cases[] = {
      {"root ::= \"a", "column 10: a text has no closing `\"`"},
      {"root ::= [a", "column 10: `[` has no `]`"},
      {"root ::= (\"a\"", "column 10: `(` has no `)`"},
      {"root ::= \"\\q\"", "column 11: this escape is unknown"},
      {"root ::= [z-a]", "column 11: the range ends before it begins"},
      {"root ::= \"a\"\nroot ::= \"b\"", "line 2, column 1: the rule `root` is "
                                         "defined twice"},
      {"root ::= other", "column 10: there is no rule `other`; write `other "
                         "::= ...`, or `\"other\"` for the text"},
      {"first ::= \"a\"", "the grammar has no rule `root`, where it begins; "
                          "call the rule `first` so"},
      {"root = \"a\"", "column 6: `=` stands where GBNF has `::=`"},
      {"start: team\nteam: \"a\"",
       "line 1, column 6: `:` stands where GBNF has `::=`: a rule is `start "
       "::= ...`, a character class `[0-9]`, and the grammar begins at the "
       "rule "
       "`root`"},
      {"root \"a\"", "column 6: `::=` is missing"},
      {"root ::= \"a\" }", "column 14: the rule `root` does not go on"},
      {"root ::= \"a\"{5,2}", "at least 5 and at most 2"},
      {"root ::= \"a\"{900000}", "a repetition of more than 100000"},
      {"root ::= \"a\"{,3}", "a repetition is `{m}`"},
      {"root ::= \"\\uD800\"", "the escape is not a Unicode character"},
      {"root ::= root \"a\" | \"b\"", "`root` is left-recursive"},
      {"root ::= a\na ::= e b\nb ::= a \"x\" | \"y\"\ne ::= \"z\"?",
       "is left-recursive"},
      {"root ::= \"a\" root", "nothing matches `root`"},
      {"root ::= []", "nothing matches `root`"},
      {"root ::= \"\xFF\"", "the grammar is not UTF-8 at its byte 11"},
      {"", "the grammar has no rule `root`"},
      {"::= \"a\"", "column 1: a rule begins here with its name"},
  };
  for (const auto& [text, message] : cases)
    EXPECT_PRED2(says, gbnf(text).refusal, message) << text;
}

TEST(Gbnf, LimitsHold) {
  std::string nested = "root ::= ";
  for (int i = 0; i < 5000; ++i)
    nested += "(";
  EXPECT_PRED2(says, gbnf(nested).refusal, "nested more than 96 deep");
  EXPECT_PRED2(says, gbnf("root ::= \"a\"" + std::string(5000, '*')).refusal,
               "more than 96 quantifiers");
  // Each level multiplies the one below; bodies become rules of their own.
  const Compiled large = gbnf("root ::= (((\"ab\"{1000}){1000}){1000}){1000}");
  ASSERT_EQ(large.refusal, "");
  EXPECT_TRUE(large.begins("abab"));
  EXPECT_PRED2(says,
               gbnf("root ::= (\"a\"{90000} \"b\"{90000}) (\"c\"{90000} "
                    "\"d\"{90000})")
                   .refusal,
               "more than 250000 states");
  std::string chain = "root ::= r0\n";
  for (int i = 0; i < 2000; ++i)
    chain += "r" + std::to_string(i) + " ::= r" + std::to_string(i + 1) + " r" +
             std::to_string(i + 1) + " \"x\"\n";
  chain += "r2000 ::= \"a\" r0 | \"b\"\n";
  EXPECT_PRED2(says, gbnf(chain).refusal, "begins with more than 500 rules");
}

TEST(Gbnf, AmbiguityIsLimited) {
  // Every prefix has two readings that no later byte can merge.
  std::string text = "root ::= s\n";
  text +=
      "s ::= p | q | \"z\"\np ::= \"a\" s \"b\"\nq ::= \"a\" s \"c\" \"b\"?\n";
  const Compiled made = gbnf(text);
  ASSERT_EQ(made.refusal, "");
  Matcher matcher(made.automaton);
  std::string refusal;
  for (int i = 0; i < 40 && refusal.empty(); ++i)
    refusal = matcher.acceptBytes("a").message();
  EXPECT_PRED2(says, refusal, "in more than 256 ways");
  EXPECT_FALSE(matcher.isComplete());
}

} // namespace
} // namespace reciperun::grammar
