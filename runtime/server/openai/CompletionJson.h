// The answers of the OpenAI API as JSON texts: errors, completions and the
// chunks of a stream.

#ifndef RECIPERUN_SERVER_OPENAI_COMPLETIONJSON_H
#define RECIPERUN_SERVER_OPENAI_COMPLETIONJSON_H

#include "runtime/data/Tokenizer.h"
#include "runtime/serve/engine/Engine.h"
#include "runtime/server/http/ErrorBody.h"
#include "runtime/server/openai/CompletionRequest.h"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <ctime>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace reciperun::server {

/// The text of a value, in which ill-formed UTF-8 is U+FFFD.
std::string jsonText(const nlohmann::ordered_json& json);

/// `stop`, `length` or `abort`.
const char* finishName(serve::FinishReason reason);

/// What all chunks of a call have in common.
struct CallHead {
  Endpoint endpoint = Endpoint::chat;
  std::string id, model;
  std::time_t created = 0;
};

/// The tokens of a prompt with their log probabilities. The first one has none.
struct ScoredPrompt {
  std::vector<int32_t> ids;
  std::vector<serve::SampledToken> rest; // from the second on
};

/// One answer of a call, whole, or what a chunk adds to it.
struct AnswerPart {
  size_t index = 0;
  bool isFirst = false; // the first chunk of an answer
  std::string text;
  std::vector<ToolCall> calls;             // behind the text
  std::vector<serve::SampledToken> tokens; // whose log probabilities to report
  bool reportsLogprobs = false;
  ScoredPrompt prompt;         // for the next two
  bool reportsPrompt = false;  // `prompt_logprobs`
  bool echoesLogprobs = false; // those of the prompt precede the answer's
  size_t textOffset = 0;       // bytes of the answer before `text`
  std::optional<serve::FinishReason> finished;
  std::optional<std::string> stopString; // which ended it
  std::optional<int32_t> stopToken;      // of the request, which ended it
};

struct Usage {
  int64_t promptTokens = 0, answerTokens = 0;
  int64_t cachedTokens = 0; // of the prompts
};

/// A whole answer.
std::string completionBody(const CallHead& head,
                           std::span<const AnswerPart> answers,
                           const Usage& usage,
                           const data::Tokenizer& tokenizer);

/// An event of a stream, `data: {...}` with its empty line. Without a part it
/// reports the usage alone.
std::string chunkEvent(const CallHead& head, const AnswerPart* part,
                       const Usage* usage, bool hasUsageField,
                       const data::Tokenizer& tokenizer);
std::string errorEvent(int status, const std::string& message);
/// The last event of a stream.
inline constexpr const char* doneEvent = "data: [DONE]\n\n";

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_OPENAI_COMPLETIONJSON_H
