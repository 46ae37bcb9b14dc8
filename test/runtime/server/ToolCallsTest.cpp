// The calls in answers of each form, whole and as they come.

#include "runtime/server/openai/ToolCalls.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace reciperun::server {
namespace {

using Json = nlohmann::ordered_json;

Tools toolsOf(const std::string& more = "") {
  auto tools = readTools(Json::parse(
      R"({"tools": [{"type": "function", "function": {"name": "weather",
            "parameters": {"type": "object", "properties":
              {"city": {"$ref": "#/$defs/city"}}, "$defs":
              {"city": {"type": "string"}}}}},
          {"type": "function", "function": {"name": "time"}}])" +
      more + "}"));
  EXPECT_TRUE(tools) << tools.message();
  return tools ? *tools : Tools();
}

/// The calls as text: "weather{...}time{...}", behind "content|".
std::string shown(const ToolAnswer& answer) {
  std::string text = answer.content + "|";
  for (const ToolCall& call : answer.calls)
    text += call.name + call.arguments;
  return text;
}

struct Case {
  const char* answer;
  const char* shown;
};

TEST(ToolCalls, FormsOfModels) {
  const Tools tools = toolsOf();
  for (const Case& each : std::vector<Case>{
           {"plain text", "plain text|"},
           {R"({"name": "weather", "parameters": {"city": "Lima"}})",
            R"(|weather{"city":"Lima"})"},
           {R"([{"name": "time", "arguments": {}},
                {"name": "weather", "arguments": {"city": "a"}}])",
            R"(|time{}weather{"city":"a"})"},
           {"<tool_call>\n{\"name\": \"time\", \"arguments\": {}}\n"
            "</tool_call>\n<tool_call>{\"name\": \"time\"}</tool_call>",
            "|time{}time{}"},
           {"I look. \n<tool_call>{\"name\": \"time\"}</tool_call>",
            "I look.|time{}"},
           {"functionweather\n```json\n{\"city\": 1}\n```",
            R"(|weather{"city": 1})"},
           {R"({"name": "time", "arguments": "{\"a\": 1}"})",
            R"(|time{"a": 1})"},
           // Functions that are none, damaged calls, and other JSON are text.
           {R"({"name": "time", "arguments": "{a"})",
            R"({"name": "time", "arguments": "{a"}|)"},
           {R"({"name": "other", "parameters": {}})",
            R"({"name": "other", "parameters": {}}|)"},
           {R"({"name": "time")", R"({"name": "time"|)"},
           {"<tool_call>{\"name\": \"time\"}", "<tool_call>{\"name\": "
                                               "\"time\"}|"},
           {R"({"city": "Lima"})", R"({"city": "Lima"}|)"},
           {"[]", "[]|"},
       })
    EXPECT_EQ(shown(splitAnswer(each.answer, tools)), each.shown);
}

/// What a stream would send of the content before the end.
std::string contentOf(const std::string& answer, const Tools& tools) {
  std::string held, content;
  for (char c : answer) {
    held += c;
    const size_t bytes = bytesOfContent(held, tools, !content.empty());
    content += held.substr(0, bytes);
    held.erase(0, bytes);
  }
  return content;
}

TEST(ToolCalls, StreamsHoldBackCalls) {
  const Tools tools = toolsOf();
  EXPECT_EQ(contentOf("plain <too", tools), "plain ");
  EXPECT_EQ(contentOf("plain < text", tools), "plain < text");
  EXPECT_EQ(contentOf("look <tool_call>{\"name\"", tools), "look ");
  EXPECT_EQ(contentOf(" {\"name\": 1} and more", tools), "");
  EXPECT_EQ(contentOf("func", tools), "");
  EXPECT_EQ(contentOf("fun it is", tools), "fun it is");
  EXPECT_EQ(contentOf("text", toolsOf(R"(, "tool_choice": "required")")), "");
}

TEST(ToolCalls, SchemasHoldAnswersToCalls) {
  const Tools required =
      toolsOf(R"(, "tool_choice": "required", "parallel_tool_calls": false)");
  const Json schema = Json::parse(schemaOf(required));
  EXPECT_EQ(schema["type"], "array");
  EXPECT_EQ(schema["maxItems"], 1);
  EXPECT_EQ(schema["$defs"]["city"]["type"], "string");
  EXPECT_EQ(schema["items"]["anyOf"].size(), 2u);
  EXPECT_EQ(shown(splitAnswer(R"([{"name": "time", "parameters": {"a": 1}}])",
                              required)),
            R"(|time{"a":1})");
  const Tools named = toolsOf(
      R"(, "tool_choice": {"type": "function",
                           "function": {"name": "weather"}})");
  EXPECT_EQ(Json::parse(schemaOf(named))["properties"]["city"]["$ref"],
            "#/$defs/city");
  EXPECT_EQ(shown(splitAnswer(R"({"city": "a"})", named)),
            R"(|weather{"city": "a"})");
  EXPECT_EQ(shown(splitAnswer(R"({"city": "a)", named)), R"({"city": "a|)");
  EXPECT_EQ(toolsOf(R"(, "tool_choice": "none")").choice, ToolChoice::none);
}

} // namespace
} // namespace reciperun::server
