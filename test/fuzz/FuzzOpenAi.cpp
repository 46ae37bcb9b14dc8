// libFuzzer target: what clients and models send through the OpenAI API.
//
// The first byte says what the rest is: `c` the body of a chat, `t` the body of
// a completion, `e` that of embeddings, `a` an answer of a model that has
// tools, in pieces. A refusal has a reason, and reading twice gives the same.
// Nothing of an answer is lost: its text is content, or it has calls of the
// tools.

#include "runtime/server/openai/CompletionRequest.h"
#include "runtime/server/openai/EmbeddingRequest.h"
#include "test/fuzz/Require.h"

#include <nlohmann/json.hpp>

#include <algorithm>

using namespace reciperun;
using namespace reciperun::server;
using recipec::fuzz::require;

namespace {

constexpr size_t longestBody = 8192;
constexpr size_t longestPiece = 7;

void requireSound(const CompletionRequest& request) {
  require(!request.prompts.empty(), "a request has a prompt");
  require(request.sampling.logprobs >= -1 && request.sampling.logprobs <= 20,
          "at most 20 log probabilities");
  require(request.streams || !request.reportsUsage,
          "stream options need a stream");
  for (const std::string& name : request.tools.names)
    require(!name.empty(), "a tool has a name");
  if (request.tools.choice == ToolChoice::named)
    require(std::ranges::find(request.tools.names, request.tools.named) !=
                request.tools.names.end(),
            "a named tool is one of the request");
}

void readBody(Endpoint endpoint, std::string_view body) {
  const auto read = readCompletionRequest(endpoint, body);
  const auto again = readCompletionRequest(endpoint, body);
  require(bool(read) == bool(again), "reading is deterministic");
  require(read.message() == again.message(), "reading is deterministic");
  if (read)
    requireSound(*read);
  else
    require(!read.message().empty(), "a refusal has a reason");
}

void readEmbedding(std::string_view body) {
  const auto read = readEmbeddingRequest(body);
  if (read)
    require(!read->inputs.empty(), "a request has an input");
  else
    require(!read.message().empty(), "a refusal has a reason");
}

/// Takes an answer apart as a server does while its tokens come.
void readAnswer(std::string_view text) {
  const Tools tools = {.choice = ToolChoice::automatic,
                       .declared = nullptr,
                       .names = {"f", "look"},
                       .named = {}};
  std::string content, held;
  bool hasContent = false;
  for (size_t at = 0; at < text.size();) {
    const size_t size = 1 + uint8_t(text[at]) % longestPiece;
    held += text.substr(at, size);
    at += size;
    const size_t bytes = bytesOfContent(held, tools, hasContent);
    require(bytes <= held.size(), "content is of the answer");
    hasContent = hasContent || bytes > 0;
    content += held.substr(0, bytes);
    held.erase(0, bytes);
  }
  const ToolAnswer rest = splitAnswer(held, tools, hasContent);
  content += rest.content;
  if (rest.calls.empty())
    require(content == text, "an answer without calls is content");
  for (const ToolCall& call : rest.calls) {
    require(std::ranges::find(tools.names, call.name) != tools.names.end(),
            "a call is one of a tool");
    require(nlohmann::json::accept(call.arguments), "arguments are JSON");
  }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2 || size > longestBody)
    return 0;
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::string_view text = input.substr(1);
  if (input[0] == 'a')
    readAnswer(text);
  else if (input[0] == 'e')
    readEmbedding(text);
  else
    readBody(input[0] == 't' ? Endpoint::completions : Endpoint::chat, text);
  return 0;
}
