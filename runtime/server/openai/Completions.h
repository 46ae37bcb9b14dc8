// Answers completions and chat completions with the engine behind a queue.
//
// A call has one answer for each prompt and each of `n`. Each answer is a
// request of the engine. A call ends when all of its answers have; a client
// that closes its connection ends them.

#ifndef RECIPERUN_SERVER_OPENAI_COMPLETIONS_H
#define RECIPERUN_SERVER_OPENAI_COMPLETIONS_H

#include "runtime/grammar/MaskTable.h"
#include "runtime/grammar/Vocabulary.h"
#include "runtime/serve/sampling/AnswerText.h"
#include "runtime/server/front/ApiModel.h"
#include "runtime/server/front/EngineClient.h"
#include "runtime/server/http/HttpReply.h"
#include "runtime/server/openai/CompletionJson.h"
#include "runtime/server/openai/CompletionRequest.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace reciperun::server {

/// Belongs to the server's thread.
class Completions {
public:
  /// The references must outlive the object. Calls are refused with 503 while
  /// `mostAnswers` answers are open.
  Completions(const ApiModel& served, EngineClient& engine, size_t mostAnswers);

  /// Answers a request, now if it is refused, or as the engine goes on. `id` is
  /// the request's, without a prefix.
  void answer(CompletionRequest request, const std::string& id,
              const std::shared_ptr<HttpReply>& reply);

private:
  using Clock = std::chrono::steady_clock;

  struct Answer {
    explicit Answer(serve::AnswerText decoder) : decoder(std::move(decoder)) {}

    Ticket ticket = 0;
    serve::AnswerText decoder;
    std::string held;        // text that may be of a tool call
    bool hasContent = false; // text that is of none came before it
    AnswerPart part;         // for a stream, since the last chunk
    size_t textBytes = 0;    // before `part`
    int64_t tokens = 0;
    int64_t cachedTokens = 0; // of its prompt
    bool isStopping = false;  // at a stop string
    bool hasEnded = false;
  };

  struct Call {
    CallHead head;
    std::shared_ptr<HttpReply> reply;
    bool streams = false, reportsUsage = false, reportsUsageOften = false;
    bool hasBegun = false; // the stream
    Clock::time_point arrival;
    std::vector<int64_t> promptTokens; // by prompt
    int64_t answersToPrompt = 1;
    std::vector<std::string> stopStrings;
    bool keepsStopString = false, isEchoAlone = false;
    Tools tools;
    std::vector<Answer> answers;
    size_t missing = 0; // answers that have not ended
  };

  Expected<std::vector<serve::Request>>
  requestsOf(const CompletionRequest& request, Call& call);
  Expected<serve::SamplingOptions> optionsOf(const CompletionRequest& request);
  Answer& addAnswer(const CompletionRequest& request,
                    const serve::SamplingOptions& options,
                    const std::vector<int32_t>& prompt, Call& call);
  std::string echoOf(const serve::PromptContent& content,
                     const std::vector<int32_t>& ids, bool skipsSpecial) const;
  std::shared_ptr<grammar::MaskTable> masksOf(const CompletionRequest& request);
  void start(const std::shared_ptr<Call>& call,
             std::vector<serve::Request> requests);
  void hear(Call& call, Answer& answer, EngineUpdate update);
  void take(Call& call, Answer& answer, EngineUpdate update);
  void take(Call& call, Answer& answer, serve::Progress progress);
  void addTokens(const Call& call, Answer& answer,
                 std::vector<serve::SampledToken> tokens);
  void addText(const Call& call, Answer& answer, const std::string& text);
  void end(Call& call, Answer& answer, serve::FinishReason reason);
  void fail(Call& call, int status, const std::string& message);
  static void note(Call& call);
  void endAnswers(Call& call);
  void sendChunk(Call& call, Answer& answer);
  void sendAll(Call& call);
  static Usage usageOf(const Call& call);

  const ApiModel& served;
  EngineClient& engine;
  size_t mostAnswers;
  std::shared_ptr<const grammar::Vocabulary> vocabulary; // once it is needed
  std::mt19937_64 seeds;
};

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_OPENAI_COMPLETIONS_H
