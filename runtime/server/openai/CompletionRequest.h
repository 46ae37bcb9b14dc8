// The bodies of /v1/completions and /v1/chat/completions.

#ifndef RECIPERUN_SERVER_OPENAI_COMPLETIONREQUEST_H
#define RECIPERUN_SERVER_OPENAI_COMPLETIONREQUEST_H

#include "runtime/base/Status.h"
#include "runtime/grammar/Automaton.h"
#include "runtime/serve/prompts/PromptFile.h"
#include "runtime/serve/sampling/SamplingArguments.h"
#include "runtime/server/openai/BodyFields.h"
#include "runtime/server/openai/ToolCalls.h"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace reciperun::server {

enum class Endpoint { completions, chat };

struct CompletionRequest {
  Endpoint endpoint = Endpoint::chat;
  CommonFields common;
  /// One for a chat. Texts are continued as they are.
  std::vector<serve::PromptContent> prompts;
  /// `logprobs` is the number of likeliest tokens to report with each token, -1
  /// for none.
  serve::SamplingArguments sampling;
  bool hasSeed = false;
  bool keepsStopString = false; // see serve::SamplingOptions
  bool skipsSpecial = true;
  bool echoes = false;      // the prompt precedes the answer
  bool isEchoAlone = false; // and no answer follows
  Tools tools;              // of a chat
  /// What the answers have to match; null: anything.
  std::shared_ptr<const grammar::Automaton> grammar;
  bool streams = false;
  bool reportsUsage = false;      // a stream ends with its usage
  bool reportsUsageOften = false; // each chunk has the usage so far
};

/// Reads a body. Fails, naming the field, when the body is not JSON, when a
/// field has another type or a value that makes no sense, and when it asks for
/// what this version does not do. samplingOptionsOf checks the ranges of the
/// sampling options.
Expected<CompletionRequest> readCompletionRequest(Endpoint endpoint,
                                                  std::string_view body);

/// Whether a body may have a grammar, which can take a second to compile. False
/// only if it has none.
bool mayHaveGrammar(std::string_view body);

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_OPENAI_COMPLETIONREQUEST_H
