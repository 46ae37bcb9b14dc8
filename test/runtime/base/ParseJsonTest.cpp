// The JSON reader: accepted input, where a value ends, and messages.

#include "runtime/base/ParseJson.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace reciperun {
namespace {

std::string refusal(std::string_view text, const JsonRules& rules = {}) {
  auto value = parseJson(text, rules);
  return value ? "accepted: " + value->dump() : value.message();
}

TEST(ParseJson, TakesEveryKindOfValue) {
  for (const char* text :
       {"null", "true", "-3", "18446744073709551615", "0.5", "\"a\\u00e9\"",
        "[]", "{}", R"({"a":[1,{"b":[[],{}]}],"c":""})"}) {
    auto value = parseJson(text);
    ASSERT_TRUE(value) << text << ": " << value.message();
    EXPECT_EQ(*value, nlohmann::json::parse(text));
    auto ordered = parseOrderedJson(text);
    ASSERT_TRUE(ordered) << text << ": " << ordered.message();
    EXPECT_EQ(*ordered, nlohmann::ordered_json::parse(text));
  }
  auto ordered = parseOrderedJson(R"({"b":1,"a":2})");
  EXPECT_EQ(ordered->dump(), R"({"b":1,"a":2})");
}

TEST(ParseJson, PassesOverAByteOrderMark) {
  EXPECT_EQ(refusal("\xEF\xBB\xBF{\"a\":1}"), "accepted: {\"a\":1}");
  EXPECT_EQ(refusal("\xEF\xBB\xBF{\"a\":1"),
            "line 1, column 8: the file ends inside a value");
}

TEST(ParseJson, EndsAtTheDepth) {
  const std::string open(128, '['), close(128, ']');
  EXPECT_TRUE(parseJson(open + close));
  const std::string tooDeep = "line 1, column 129: lists and objects are "
                              "nested more than 128 deep";
  EXPECT_EQ(refusal("[" + open + close + "]"), tooDeep);
  EXPECT_EQ(refusal(std::string(1000000, '[')), tooDeep);
  std::string objects;
  for (int i = 0; i < 100000; ++i)
    objects += "{\"a\":";
  EXPECT_NE(refusal(objects).find("128 deep"), std::string::npos);
  EXPECT_NE(parseOrderedJson(objects).message().find("128 deep"),
            std::string::npos);
  EXPECT_NE(refusal("[[1]]", {.maxDepth = 1}).find("more than 1 deep"),
            std::string::npos);
}

TEST(ParseJson, EndsAtTheSize) {
  EXPECT_EQ(refusal("[1, 2]", {.maxBytes = 5}),
            "the file has 6 bytes, more than the 5 that are read");
}

TEST(ParseJson, RefusesAKeyTwice) {
  EXPECT_EQ(refusal("{\"a\": 1,\n \"a\": 2}"),
            "line 2, column 4: an object holds `a` twice; remove one");
  EXPECT_EQ(refusal(R"({"a": {"a": 1}, "b": {"a": 1}})").substr(0, 8),
            "accepted");
  EXPECT_EQ(parseOrderedJson(R"({"a": 1, "\u0061": 2})").message(),
            "line 1, column 17: an object holds `a` twice; remove one");
}

/// An object that keeps its order looks members up by linear search.
TEST(ParseJson, BoundsTheMembersOfAnOrderedObject) {
  std::string text = "{";
  for (int i = 0; i < 256; ++i)
    text += "\"" + std::to_string(i) + "\":0,";
  text.back() = '}';
  EXPECT_TRUE(parseOrderedJson(text));
  text.back() = ',';
  text += "\"x\":0}";
  EXPECT_NE(parseOrderedJson(text).message().find("more than 256 members"),
            std::string::npos);
  EXPECT_TRUE(parseJson(text));
}

TEST(ParseJson, SaysWhatStandsThere) {
  const std::pair<std::string, std::string> cases[] = {
      {"", "the file is empty"},
      {" \n", "the file is empty"},
      {"{\"a\": [1, 2", "line 1, column 12: the file ends inside a value"},
      {"\"abc", "line 1, column 5: the file ends inside a value"},
      {"nul", "line 1, column 4: the file ends inside a value"},
      {"[1, NaN]", "line 1, column 5: JSON has no `NaN`; write `null`, or "
                   "leave the field out"},
      {"[-Infinity]",
       "line 1, column 3: JSON has no `Infinity`; write a number"},
      {"{\"a\": True}", "line 1, column 7: JSON writes `true`, not `True`"},
      {"{\"a\":\n  None}", "line 2, column 3: JSON writes `null`, not `None`"},
      {"{'a': 1}", "line 1, column 2: a text stands between `\"`, not `'`"},
      {"[1] // one", "line 1, column 5: JSON has no comments; remove it"},
      {"[1, 2, ]", "line 1, column 8: a comma stands before `]`; remove it"},
      {"{\"a\": \"says \"it\" now\"}",
       "line 1, column 13: `\"` inside a text is written `\\\"`"},
      {"{\"a\": \"says \"\"it\"\" now\"}",
       "line 1, column 13: `\"` inside a text is written `\\\"`"},
      {"{\"a\": \"x\" \"b\": \"y\"}",
       "line 1, column 11: a comma is missing before \"b\""},
      {"{\"a\" \"b\"}", "line 1, column 6: a colon is missing behind \"a\""},
      {"{\"a\": \"x\"; \"b\": 1}",
       "line 1, column 10: a comma stands between values, not `;`"},
      {"{\"a\" = 1}",
       "line 1, column 6: a colon stands behind a name, not `=`"},
      {"{} {}", "line 1, column 4: the file goes on behind its value"},
      {"[1e999]", "line 1, column 6: the number `1e999` is out of range"},
      {"[\"\xC3\xA9\xFF\"]", "line 1, column 4: the bytes here are not UTF-8"},
      {"[\"\xC3(\"]", "line 1, column 4: the bytes here are not UTF-8"},
      {"[\"\xED\xA0\x80\"]", "line 1, column 4: the bytes here are not UTF-8"},
      {"\xFF\xFE{\0}\0", "line 1, column 1: the bytes here are not UTF-8"},
      {"[\"a\nb\"]", "line 1, column 4: a text holds a control character, "
                     "such as a line break; JSON writes `\\n`"},
      {std::string("{}\0{", 4),
       "line 1, column 3: a NUL byte, which no text has"},
      {"{type: object}", "line 1, column 2: a name stands in quotation marks: "
                         "`\"type\"`, not `type`"},
      {"{\"type\": object}", "line 1, column 10: a text stands in quotation "
                             "marks: `\"object\"`, not `object`"},
      {"{\"a\": 1,\n b: 2}", "line 2, column 2: a name stands in quotation "
                             "marks: `\"b\"`, not `b`"},
      {"[tru, 1]", "line 1, column 2: a text stands in quotation marks: "
                   "`\"tru\"`, not `tru`"},
      {"{\"a\": 1 b}", "line 1, column 9: no JSON from here on"},
      {R"({"pattern": "\d+"})",
       "line 1, column 15: JSON has no escape `\\d`; a "
       "backslash is written `\\\\`"},
      {"root:x:0:0:root:/root:/bin/bash\n",
       "line 1, column 1: no JSON from here on"},
  };
  for (const auto& [text, message] : cases)
    EXPECT_EQ(refusal(text), message) << text;
  EXPECT_EQ(refusal("{\"a\" 1}", {.noun = "line"}),
            "column 6: a colon is missing behind \"a\"");
  EXPECT_EQ(refusal("[\r", {.noun = "line"}),
            "column 3: the line has nothing but `[`, and a line holds a whole "
            "value: `jq -c '.[]' FILE` writes the file so");
}

TEST(ParseJson, TakesInfinityWhereAskedTo) {
  const JsonRules rules = {.takesInfinity = true};
  EXPECT_EQ(
      refusal(R"({"a": [0.0, Infinity], "b": "-Infinity\"", "c": -Infinity})",
              rules),
      R"(accepted: {"a":[0.0,null],"b":"-Infinity\"","c":null})");
  EXPECT_EQ(refusal("[Infinity, NaN]", rules),
            "line 1, column 12: JSON has no `NaN`; write `null`, or leave the "
            "field out");
}

/// The reader survives any text, and no message contains the library's wording.
TEST(ParseJson, SurvivesEveryFlippedByteAndTruncation) {
  const std::string whole = R"({"a":[1,-2.5e3,null,true],"b":{"c":"\u00e9\n)"
                            "\xC3\xA9\"},\"d\":[{},[]]}";
  for (size_t at = 0; at < whole.size(); ++at) {
    EXPECT_FALSE(parseJson(std::string_view(whole).substr(0, at)));
    for (int byte = 0; byte < 256; ++byte) {
      std::string damaged = whole;
      damaged[at] = char(byte);
      auto value = parseJson(damaged);
      bool isTwice = value.message().ends_with("twice; remove one");
      EXPECT_EQ(value || isTwice, nlohmann::json::accept(damaged)) << damaged;
      EXPECT_EQ(value.message().find("exception"), std::string::npos);
    }
  }
}

} // namespace
} // namespace reciperun
