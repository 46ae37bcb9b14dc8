// What bodies of /v1/completions and /v1/chat/completions ask for, and why some
// are refused.

#include "runtime/server/openai/CompletionRequest.h"

#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

namespace reciperun::server {
namespace {

CompletionRequest readText(const std::string& body) {
  auto request = readCompletionRequest(Endpoint::completions, body);
  EXPECT_TRUE(request) << request.message();
  return request ? *request : CompletionRequest();
}

CompletionRequest readChat(const std::string& fields) {
  auto request = readCompletionRequest(
      Endpoint::chat,
      R"({"messages": [{"role": "user", "content": "a"}])" + fields + "}");
  EXPECT_TRUE(request) << request.message();
  return request ? *request : CompletionRequest();
}

TEST(CompletionRequest, PromptsAreTextsAndIds) {
  using Ids = std::vector<int32_t>;
  const auto one = readText(R"({"prompt": "a b"})");
  ASSERT_EQ(one.prompts.size(), 1u);
  EXPECT_EQ(std::get<std::string>(one.prompts[0]), "a b");
  const auto ids = readText(R"({"prompt": [1, 2]})");
  ASSERT_EQ(ids.prompts.size(), 1u);
  EXPECT_EQ(std::get<Ids>(ids.prompts[0]), Ids({1, 2}));
  const auto several = readText(R"({"prompt": ["a", [3], "b"]})");
  ASSERT_EQ(several.prompts.size(), 3u);
  EXPECT_EQ(std::get<Ids>(several.prompts[1]), Ids({3}));
  EXPECT_EQ(std::get<std::string>(several.prompts[2]), "b");
}

TEST(CompletionRequest, DefaultsAreThoseOfTheApi) {
  const auto text = readText(R"({"prompt": "a"})");
  EXPECT_EQ(text.sampling.maxTokens, 16);
  EXPECT_EQ(text.sampling.temperature, std::nullopt);
  EXPECT_EQ(text.sampling.logprobs, -1);
  EXPECT_FALSE(text.streams);
  EXPECT_FALSE(text.hasSeed);
  EXPECT_EQ(readChat("").sampling.maxTokens, std::nullopt);
}

TEST(CompletionRequest, FieldsOfAChat) {
  const auto request = readChat(
      R"(, "model": "m", "max_tokens": 3, "max_completion_tokens": 5,
         "logprobs": true, "top_logprobs": 4, "seed": 9, "priority": 2,
         "stream": true, "stream_options": {"include_usage": true},
         "tools": [], "tool_choice": "none", "user": "u", "stop": null)");
  EXPECT_EQ(request.common.model, "m");
  EXPECT_EQ(request.sampling.maxTokens, 5);
  EXPECT_EQ(request.sampling.logprobs, 4);
  EXPECT_EQ(request.sampling.seed, 9u);
  EXPECT_TRUE(request.hasSeed);
  EXPECT_EQ(request.common.priority, -2);
  EXPECT_TRUE(request.streams);
  EXPECT_TRUE(request.reportsUsage);
  EXPECT_FALSE(request.reportsUsageOften);
  EXPECT_EQ(readChat(R"(, "logprobs": true)").sampling.logprobs, 0);
}

TEST(CompletionRequest, FieldsOfVllm) {
  const auto request = readText(
      R"({"prompt": "a", "echo": true, "max_tokens": 0, "cache_salt": "s",
          "skip_special_tokens": false, "include_stop_str_in_output": true,
          "truncate_prompt_tokens": 7, "best_of": 1, "metadata": {"a": "b"},
          "stream": true, "stream_options": {"continuous_usage_stats": true}})");
  EXPECT_TRUE(request.echoes);
  EXPECT_TRUE(request.isEchoAlone);
  EXPECT_EQ(request.sampling.maxTokens, 1);
  EXPECT_EQ(request.common.cacheSalt, "s");
  EXPECT_EQ(request.common.lastTokens, 7);
  EXPECT_FALSE(request.skipsSpecial);
  EXPECT_TRUE(request.keepsStopString);
  EXPECT_FALSE(request.reportsUsageOften) << "without include_usage";
}

TEST(CompletionRequest, AnswersHaveGrammars) {
  EXPECT_EQ(readChat(R"(, "response_format": {"type": "text"})").grammar,
            nullptr);
  for (const char* fields :
       {R"(, "response_format": {"type": "json_object"})",
        R"(, "response_format": {"type": "json_schema", "json_schema":
             {"name": "s", "schema": {"type": "boolean"}}})",
        R"(, "structured_outputs": {"json": {"type": "boolean"}})",
        R"(, "structured_outputs": {"regex": "a+"})",
        R"(, "structured_outputs": {"choice": ["a", "b"]})",
        R"(, "structured_outputs": {"grammar": "root ::= \"a\""})"})
    EXPECT_NE(readChat(fields).grammar, nullptr) << fields;
}

struct Refused {
  const char* body;
  const char* reason;
};

void expectRefused(Endpoint endpoint, const Refused& each) {
  const auto request = readCompletionRequest(endpoint, each.body);
  ASSERT_FALSE(request) << each.body;
  EXPECT_NE(request.message().find(each.reason), std::string::npos)
      << each.body << "\n"
      << request.message();
}

TEST(CompletionRequest, RefusedTexts) {
  for (const Refused& each : std::vector<Refused>{
           {"", "the body is empty"},
           {"[]", "the body must be a JSON object"},
           {"{}", "`prompt` is missing"},
           {R"({"prompt": ""})", "`prompt` is empty"},
           {R"({"prompt": []})", "`prompt` is empty"},
           {R"({"prompt": {}})", "`prompt` must be a text, a list of token "
                                 "ids, or a list of either"},
           {R"({"prompt": [[[1]]]})", "`prompt` must be"},
           {R"({"prompt": [-1]})", "`prompt` has the token id -1"},
           {R"({"prompt": [4294967296]})",
            "`prompt` has the token id 4294967296"},
           {R"({"prompt": "a", "model": 1})", "`model` must be a text"},
           {R"({"prompt": "a", "stream": 1})", "`stream` must be `true`"},
           {R"({"prompt": "a", "stream_options": {}})",
            "`stream_options` can only be used when `stream` is True"},
           {R"({"prompt": "a", "stream": true, "stream_options": 1})",
            "`stream_options` must be an object"},
           {R"({"prompt": "a", "temperature": "1"})", "`temperature`"},
           {R"({"prompt": "a", "max_tokens": -1})", "`max_tokens`"},
           {R"({"prompt": "a", "logprobs": 21})", "`logprobs` must be"},
           {R"({"prompt": "a", "priority": 0.5})", "`priority` must be"},
           {R"({"prompt": "a", "suffix": "b"})", "`suffix` is not supported"},
           {R"({"prompt": "a", "best_of": 2})", "`best_of` other than `n`"},
           {R"({"prompt": "a", "echo": 1})", "`echo` must be `true`"},
           {R"({"prompt": "a", "stream": true, "prompt_logprobs": 0})",
            "`prompt_logprobs` are not available when `stream=True`."},
           {R"({"prompt": "a", "prompt_logprobs": 21})",
            "`prompt_logprobs` must be a whole number from 0 to 20"},
           {R"({"prompt": "a", "truncate_prompt_tokens": -2})",
            "`truncate_prompt_tokens` must be"},
           {R"({"prompt": "a", "structured_outputs": 1})",
            "`structured_outputs` must be an object"},
           {R"({"prompt": "a", "structured_outputs": {"regex": "("}})",
            "`structured_outputs`: "},
           {R"({"prompt": "a", "structured_outputs": {"choice": [1]}})",
            "`structured_outputs.choice` must be"},
       })
    expectRefused(Endpoint::completions, each);
}

TEST(CompletionRequest, RefusedChats) {
  for (const Refused& each : std::vector<Refused>{
           {"{}", "`messages` is missing"},
           {R"({"messages": []})", "`messages` is empty"},
           {R"({"messages": [{}], "tools": [{}]})", "`tools[0]` must be"},
           {R"({"messages": [{}], "tool_choice": "required"})",
            "`tool_choice` needs `tools`"},
           {R"({"messages": [{}], "tools": [{"function": {"name": "f"}}],
                "tool_choice": {"function": {"name": "g"}}})",
            "`tool_choice` names the function `g`"},
           {R"({"messages": [{}], "tools": [{"function": {"name": "f"}}],
                "tool_choice": "required",
                "response_format": {"type": "json_object"}})",
            "`response_format` and `tools` exclude each other"},
           {R"({"messages": [{}], "logprobs": 1})",
            "`logprobs` must be `true`"},
           {R"({"messages": [{}], "top_logprobs": 1})",
            "`logprobs` must be set to true"},
           {R"({"messages": [{}], "logprobs": true, "top_logprobs": 21})",
            "`top_logprobs` must be a whole number from 0 to 20"},
           {R"({"messages": [{}], "response_format": "json"})",
            "`response_format` must be an object with `type`"},
           {R"({"messages": [{}], "response_format": {"type": "xml"}})",
            "`response_format.type` must be"},
           {R"({"messages": [{}], "response_format": {"type": "json_schema"}})",
            "needs `json_schema.schema`"},
           {R"({"messages": [{}], "response_format": {"type": "json_object"},
                "structured_outputs": {"regex": "a"}})",
            "exclude each other"},
       })
    expectRefused(Endpoint::chat, each);
}

} // namespace
} // namespace reciperun::server
