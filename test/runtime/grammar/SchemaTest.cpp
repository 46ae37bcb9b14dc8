// JSON schemas, keyword by keyword.

#include "test/runtime/Says.h"
#include "test/runtime/grammar/Walk.h"

#include <gtest/gtest.h>

namespace reciperun::grammar {
namespace {

/// Checks which texts a schema takes.
void expect(const char* text, std::initializer_list<const char*> taken,
            std::initializer_list<const char*> refused) {
  const Compiled made = schema(text);
  ASSERT_EQ(made.refusal, "") << text;
  for (const char* each : taken)
    EXPECT_TRUE(made.takes(each)) << text << " and " << each;
  for (const char* each : refused)
    EXPECT_FALSE(made.takes(each)) << text << " and " << each;
}

TEST(Schema, Types) {
  expect(R"({"type": "string"})", {"\"\"", R"("aé日\n\u00e9\ud83d\ude00")"},
         {"a", "\"\n\"", R"("\x")", R"("\ud83d")", "\"\xFF\"", "\"a"});
  expect(R"({"type": "integer"})", {"0", "-12", "123456789012345678"},
         {"01", "1.0", "1e3", "", "+1", "1234567890123456789"});
  expect(R"({"type": "number"})", {"0", "-1.25", "1e9", "2.5E-10"},
         {"1.", ".5", "01", "1e", "NaN"});
  expect(R"({"type": ["boolean", "null"]})", {"true", "false", "null"},
         {"0", "\"true\""});
  expect(R"({"type": "string", "nullable": true, "maxLength": 1})",
         {"\"a\"", "null"}, {"\"ab\""});
  expect("true", {"{}", "[1, {\"a\": []}]", "null"}, {"", "[1,]", "{1:2}"});
  expect("{}", {"{\"a\":1}", "\"\""}, {"{"});
}

TEST(Schema, Objects) {
  expect(R"({"type": "object", "properties": {"a": {"type": "integer"},
             "b": {"type": "string"}, "c": {}}, "required": ["b"]})",
         {R"({"b":""})", R"({"a": 1, "b": "x", "c": [1]})",
          "{\n  \"b\": \"x\",\n  \"c\": 1\n}"},
         {"{}", R"({"a":1})", R"({"b":"","a":1})", R"({"b":"","d":1})",
          R"({,"b":""})", R"({"b":"",})"});
  expect(R"({"properties": {"a": {}, "b": {}}})",
         {"{}", R"({"a":1})", R"({"b":1})", R"({"a":1,"b":2})"},
         {"1", R"({"a":1,})", R"({"a":1,"a":2})"});
  expect(R"({"properties": {"a": {}}, "minProperties": 1})", {R"({"a":1})"},
         {"{}"});
  expect(R"({"type": "object", "properties": {"ab": {"type": "null"}},
             "additionalProperties": {"type": "integer"}})",
         {"{}", R"({"ab":null})", R"({"ab":null,"a":1,"abc":2})", R"({"x":1})"},
         {R"({"ab":1})", R"({"x":null})", R"({"ab":null,"ab":1})",
          R"({"a\u0062":1})"});
  expect(R"({"additionalProperties": {"type": "integer"}, "minProperties": 2,
             "maxProperties": 3})",
         {R"({"a":1,"b":2})", R"({"a":1,"b":2,"c":3})"},
         {R"({"a":1})", R"({"a":1,"b":2,"c":3,"d":4})"});
  expect(R"({"type": "object", "required": ["a"]})", {R"({"a":[]})"}, {"{}"});
  expect(R"({"type": "object", "maxProperties": 0})", {"{}", "{ }"},
         {R"({"a":1})"});
}

TEST(Schema, Arrays) {
  expect(R"({"items": {"type": "integer"}, "minItems": 2, "maxItems": 3})",
         {"[1,2]", "[1, 2, 3]"}, {"[]", "[1]", "[1,2,3,4]", "[1,\"a\"]"});
  expect(R"({"type": "array"})", {"[]", "[1,\"a\",[]]"}, {"[,]"});
  expect(R"({"prefixItems": [{"type": "integer"}, {"type": "string"}],
             "items": {"type": "null"}})",
         {"[]", "[1]", "[1,\"\"]", "[1,\"\",null,null]"},
         {"[\"\"]", "[1,null]", "[1,\"\",1]"});
  expect(R"({"prefixItems": [{"type": "integer"}, {"type": "string"}],
             "items": false, "minItems": 2})",
         {"[1,\"\"]"}, {"[]", "[1]", "[1,\"\",null]"});
  expect(R"({"prefixItems": [{"type": "integer"}, {"type": "string"}],
             "maxItems": 1})",
         {"[]", "[1]"}, {"[1,\"\"]"});
  expect(R"({"type": "array", "maxItems": 0})", {"[]"}, {"[1]"});
}

TEST(Schema, Strings) {
  expect(R"({"type": "string", "minLength": 2, "maxLength": 3})",
         {"\"ab\"", "\"日本語\"", R"("a\n")", R"("\ud83d\ude00a")"},
         {"\"a\"", "\"abcd\"", "\"日\""});
  expect(R"({"pattern": "b+"})", {"\"b\"", "\"abbc\"", R"("\"b\\")"},
         {"\"ac\"", "1"});
  expect(R"({"pattern": "^[a\"\\n]+$", "maxLength": 2})",
         {"\"a\"", R"("\"\n")"}, {"\"\"", "\"aaa\"", R"("\u0061")"});
  expect(R"({"allOf": [{"pattern": "^a"}, {"pattern": "z$"}], "minLength": 3})",
         {"\"abz\"", "\"aaaz\""}, {"\"az\"", "\"abc\""});
  expect(
      R"({"format": "date"})", {"\"2024-02-29\"", "\"2023-12-31\""},
      {"\"2023-02-29\"", "\"1900-02-29\"", "\"2023-04-31\"", "\"2023-13-01\""});
  expect(R"({"format": "date-time"})",
         {"\"2024-01-31T23:59:59Z\"", "\"2024-01-31T00:00:00.5+02:00\""},
         {"\"2024-01-31\"", "\"2024-01-31T24:00:00Z\"",
          "\"2024-01-31T00:00:00\""});
  expect(R"({"format": "uuid"})", {"\"123e4567-e89b-12d3-a456-426614174000\""},
         {"\"123e4567\""});
  expect(R"({"format": "email"})", {"\"a.b@c-d.org\""}, {"\"a@\"", "\"@b\""});
  expect(R"({"format": "ipv4"})", {"\"255.0.10.199\""},
         {"\"256.0.0.1\"", "\"1.2.3\"", "\"01.2.3.4\""});
}

TEST(Schema, Numbers) {
  expect(R"({"type": "integer", "minimum": -12, "exclusiveMaximum": 105})",
         {"-12", "-9", "-1", "0", "9", "10", "99", "100", "104"},
         {"-13", "105", "200", "1000", "-100", "-0"});
  expect(R"({"type": "integer", "minimum": 0.5, "maximum": 2.5})", {"1", "2"},
         {"0", "3"});
  expect(R"({"type": "number", "minimum": 0.25, "maximum": 10})",
         {"0.25", "0.3", "1", "9.99", "10", "10.0", "0.250"},
         {"0.2", "0.249", "0", "10.1", "11", "-1", "1e0"});
  expect(R"({"exclusiveMinimum": -1.5, "exclusiveMaximum": 0})",
         {"-1.4", "-1.49", "-0.1", "-1"}, {"-1.5", "-1.50", "0", "-0", "-2"});
  expect(R"({"type": "integer", "maximum": 9223372036854775807})",
         {"999999999999999999", "-5"}, {});
  expect(R"({"minimum": 1e-3, "maximum": 1.5e1})", {"0.001", "15", "14.9"},
         {"0.0009", "15.1"});
  expect(R"({"type": "number", "multipleOf": 1})", {"3"}, {"3.5"});
}

TEST(Schema, EnumAndConst) {
  expect(R"({"enum": ["a", 1, null, {"b": [1.5]}]})",
         {"\"a\"", "1", "null", R"({"b":[1.5]})"}, {"\"b\"", "1.5"});
  expect(R"({"enum": ["a", "bcd", 1, 7], "maxLength": 2, "maximum": 5})",
         {"\"a\"", "1"}, {"\"bcd\"", "7"});
  expect(R"({"type": "string", "enum": ["a", 1]})", {"\"a\""}, {"1"});
  expect(R"({"const": "é\n"})", {"\"é\\n\""}, {"\"é\""});
  expect(R"({"enum": [1, 2, 3], "allOf": [{"enum": [2, 3, 4]}], "const": 3})",
         {"3"}, {"2", "4"});
}

TEST(Schema, Combinations) {
  expect(R"({"anyOf": [{"type": "string"}, {"type": "integer"}]})",
         {"\"a\"", "1"}, {"null"});
  expect(R"({"type": "object", "properties": {"k": {"type": "string"}},
             "required": ["k"], "anyOf": [
               {"properties": {"a": {"type": "null"}}, "required": ["a"]},
               {"properties": {"b": {"type": "null"}}, "required": ["b"]}]})",
         {R"({"k":"","a":null})", R"({"k":"","b":null})"},
         {R"({"k":""})", R"({"a":null})"});
  expect(R"({"oneOf": [
             {"type": "object", "properties": {"t": {"const": "x"}},
              "required": ["t"]},
             {"type": "object", "properties": {"t": {"const": "y"},
              "n": {"type": "integer"}}, "required": ["t", "n"]}]})",
         {R"({"t":"x"})", R"({"t":"y","n":1})"}, {R"({"t":"x","n":1})"});
  expect(R"({"allOf": [{"type": "integer", "minimum": 3},
             {"$ref": "#/$defs/small"}], "$defs": {"small": {"maximum": 5}}})",
         {"3", "5"}, {"2", "6"});
}

TEST(Schema, References) {
  expect(R"({"$ref": "#/$defs/node", "$defs": {"node": {"type": "object",
             "properties": {"v": {"type": "integer"},
               "next": {"anyOf": [{"$ref": "#/$defs/node"},
                                  {"type": "null"}]}},
             "required": ["v", "next"]}}})",
         {R"({"v":1,"next":null})", R"({"v":1,"next":{"v":2,"next":null}})"},
         {R"({"v":1})", R"({"v":1,"next":1})"});
  expect(R"({"type": "array", "items": {"$ref": "#"}})", {"[]", "[[],[[]]]"},
         {"[1]"});
  expect(R"({"$ref": "#/$defs/a~1b%25", "$defs": {"a/b%": {"const": 1}}})",
         {"1"}, {"2"});
}

TEST(Schema, AnnotationsAreSkipped) {
  expect(R"({"title": "t", "description": "d", "default": 1, "examples": [1],
             "$schema": "https://json-schema.org/draft/2020-12/schema",
             "x-order": 3, "type": "null"})",
         {"null"}, {"1"});
}

TEST(Schema, AnyObject) {
  const Compiled made = compiled(rulesOfAnyJsonObject());
  EXPECT_TRUE(made.takes(R"({"a": [1, {"b": null}]})"));
  EXPECT_FALSE(made.takes("[]"));
}

TEST(Schema, RefusalsNameThePlace) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"type": "text"})", "`#/type` takes `null`, `boolean`"},
      {R"({"properties": {"a": {"not": {}}}})",
       "`#/properties/a` has the keyword `not`, which"},
      {R"({"minimun": 1})", "`#` has `minimun`, which is no keyword"},
      {R"({"team": "str", "sent": [{"day": 3}]})",
       R"({"type":"object","properties":{"team":{"type":"string"},"sent":{)"
       R"("type":"array","items":{"type":"object","properties":{"day":{)"
       R"("type":"integer"}},"required":["day"]}}},"required":["team","sent"]})"},
      {R"({"properties": {"team": "string"}})",
       R"(not `"string"`; write `{"type":"string"}`)"},
      {R"({"if": {}, "then": {}})", "or write the cases as `anyOf`"},
      {R"({"properties": {"a/b": {"minLength": -1}}})",
       "`#/properties/a~1b/minLength` takes a whole number from 0, not `-1`"},
      {R"({"maxLength": 1000000})", "more than the 100000"},
      {R"({"format": "iri"})", "`#/format` is `iri`, which is not supported"},
      {R"({"pattern": "a("})", "`#/pattern`: column 2: `(` has no `)`"},
      {R"({"multipleOf": 3})", "`#/multipleOf` is 3"},
      {R"({"uniqueItems": true})", "leave it out, and elements may be equal"},
      {R"({"$ref": "other.json"})", "only pointers inside the schema"},
      {R"({"$ref": "#/$defs/x", "$defs": {}})", "`#/$defs` has no `x`; write "
                                                "the schema there"},
      {R"({"$ref": "#/definitions/x", "$defs": {"x": true}})",
       "`#` has no `definitions`; write `#/$defs/x`"},
      {R"({"$ref": "#/$defs/y", "$defs": {"x": true}})",
       "`#/$defs` has no `y`; it has `x`"},
      {R"({"type": "str"})", "not `\"str\"`; write `\"string\"`"},
      {R"({"min_length": 3})", "no keyword of JSON Schema; write `minLength`"},
      {R"({"$ref": "#"})", "`#` refers to itself"},
      {R"({"anyOf": [{"$ref": "#"}, {"type": "null"}]})", "left-recursive"},
      {R"({"items": [{}]})", "`#/items` is a list; write `prefixItems`"},
      {R"({"required": "a"})",
       "`#/required` takes a list of at most 512 names"},
      {R"({"enum": []})", "`#/enum` takes a list of 1 to 4096 values"},
      {R"({"oneOf": [{"type": "number"}, {"type": "integer"}]})",
       "`#/oneOf` has alternatives 0 and 1, which may both accept"},
      {R"({"properties": {"a": {}, "b": {}}, "maxProperties": 1})",
       "`minProperties` or `maxProperties` beside optional"},
      {R"({"type": 5)", "the JSON schema: line 1, column 11: the schema ends"},
      {"5", "`#` is a schema, which is an object"},
      {"", "the JSON schema: the schema is empty"},
      {R"({"minimum": 1e500})", "is out of range"},
  };
  for (const auto& [text, message] : cases)
    EXPECT_PRED2(says, schema(text).refusal, message) << text;
}

TEST(Schema, RefusesWhatNothingMatches) {
  const std::pair<const char*, const char*> cases[] = {
      {"false", "nothing matches: `#`: `#` is `false`"},
      {R"({"minimum": 5, "maximum": 3, "type": "integer"})",
       "no integer is between the bounds"},
      {R"({"minimum": 1.2, "maximum": 1.8, "type": "integer"})",
       "no integer is between the bounds"},
      {R"({"minLength": 3, "maxLength": 2})",
       "a string has at least 3 and at most 2 characters"},
      {R"({"minItems": 3, "maxItems": 2})", "an array has at least 3"},
      {R"({"allOf": [{"type": "string"}, {"type": "null"}]})",
       "the types exclude one another"},
      {R"({"type": "string", "enum": [1]})", "no value of `enum`"},
      {R"({"pattern": "^a{5}$", "maxLength": 3})", "no string has both"},
      {R"({"required": ["a"], "properties": {"b": {}},
           "additionalProperties": false})",
       "`a` is required, and `#/additionalProperties` is `false`"},
      {R"({"required": ["a"], "properties": {"a": {"minItems": 2,
           "items": false, "type": "array"}}})",
       "nothing matches: `#/properties/a/items`"},
      {R"({"type": "object", "properties": {"a": {"$ref": "#"}},
           "required": ["a"]})",
       "goes on for ever"},
  };
  for (const auto& [text, message] : cases)
    EXPECT_PRED2(says, schema(text).refusal, message) << text;
}

TEST(Schema, HostileSizesEndSoon) {
  std::string deep;
  for (int i = 0; i < 10'000; ++i)
    deep += R"({"items":)";
  EXPECT_PRED2(says, schema(deep).refusal, "nested more than 96 deep");
  // Every `anyOf` doubles the combinations.
  std::string many = R"({"type": "integer")", list;
  for (int i = 0; i < 40; ++i)
    list += std::string(i ? "," : "") + R"({"anyOf": [{"minimum": )" +
            std::to_string(i) + R"(}, {"maximum": )" + std::to_string(i) +
            "}]}";
  many += R"(, "allOf": [)" + list + "]}";
  EXPECT_PRED2(says, schema(many).refusal, "more than 20000 combinations");
  expect(R"({"type": "string", "maxLength": 100000})", {"\"a\""}, {"\"a"});
  EXPECT_PRED2(
      says,
      schema(R"({"pattern": "(a|b)*a(a|b){40}", "maxLength": 90})").refusal,
      "needs too many states");
}

} // namespace
} // namespace reciperun::grammar
