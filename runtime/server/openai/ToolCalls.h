// Function calling: the tools of a chat, and the calls in an answer.
//
// A model that may call a function writes the call into its answer, in the form
// that it was trained on:
//   Hermes, Qwen:  <tool_call>{"name": ..., "arguments": {...}}</tool_call>
//   Llama 3:       {"name": ..., "parameters": {...}}
//   Mistral:       [{"name": ..., "arguments": {...}}]
//   DeepSeek:      functionNAME\n```json\n{...}\n```
// (without special tokens, which answers do not have). All are recognised, for
// the names of the request's functions only. An answer that has to call a
// function is held to a JSON Schema instead.

#ifndef RECIPERUN_SERVER_OPENAI_TOOLCALLS_H
#define RECIPERUN_SERVER_OPENAI_TOOLCALLS_H

#include "runtime/base/Status.h"

#include <nlohmann/json.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace reciperun::server {

enum class ToolChoice {
  none,      // no calls
  automatic, // as the model likes
  required,  // at least one call
  named,     // a call of one function
};

/// The tools of a request.
struct Tools {
  ToolChoice choice = ToolChoice::none;
  nlohmann::ordered_json declared = nullptr; // the request's list
  std::vector<std::string> names;            // of the functions
  std::string named;                         // for ToolChoice::named
  bool isParallel = true;                    // several calls at once
};

/// Reads `tools`, `tool_choice` and `parallel_tool_calls` of a body. Fails,
/// naming the field, when one has another form or names no function.
Expected<Tools> readTools(const nlohmann::ordered_json& body);

/// The JSON Schema of an answer to `required` and `named`.
std::string schemaOf(const Tools& tools);

struct ToolCall {
  std::string name;
  std::string arguments; // JSON
};

/// An answer taken apart: the text before the calls, and the calls.
struct ToolAnswer {
  std::string content;
  std::vector<ToolCall> calls;
};

/// Splits a complete answer. `hasBegun`: text of the answer was sent before, so
/// that only tagged calls may follow. An answer that is no call, or is cut off
/// within one, is content as a whole.
ToolAnswer splitAnswer(const std::string& text, const Tools& tools,
                       bool hasBegun = false);

/// The number of leading bytes of an incomplete answer that cannot belong to a
/// call.
size_t bytesOfContent(std::string_view text, const Tools& tools, bool hasBegun);

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_OPENAI_TOOLCALLS_H
