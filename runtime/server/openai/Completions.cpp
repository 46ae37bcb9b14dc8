// See Completions.h.

#include "runtime/server/openai/Completions.h"

#include "runtime/base/Log.h"
#include "runtime/serve/structured/GrammarConstraint.h"
#include "runtime/server/openai/PromptIds.h"

#include <algorithm>
#include <ctime>
#include <iterator>
#include <utility>
#include <variant>

namespace reciperun::server {
namespace {

using serve::FinishReason;
using serve::Progress;
using serve::SampledToken;
using serve::SamplingArguments;

template <class T>
void fillIn(std::optional<T>& value, std::optional<T> other) {
  if (!value)
    value = other;
}

} // namespace

Completions::Completions(const ApiModel& served, EngineClient& engine,
                         size_t mostAnswers)
    : served(served), engine(engine), mostAnswers(mostAnswers),
      seeds(std::random_device()()) {}

// ---- requests

void Completions::answer(CompletionRequest request, const std::string& id,
                         const std::shared_ptr<HttpReply>& reply) {
  const bool isChat = request.endpoint == Endpoint::chat;
  std::string& model = request.common.model;
  if (model.empty())
    model = served.name;
  if (!served.has(model))
    return reply->send(
        404, jsonType,
        errorBody(404, "The model `" + model + "` does not exist."));
  if (engine.openRequests() +
          request.prompts.size() * size_t(request.sampling.n) >
      mostAnswers) {
    reply->addHeader("Retry-After", "1");
    return reply->send(
        503, jsonType,
        errorBody(503, "the server has " +
                           std::to_string(engine.openRequests()) +
                           " answers in progress or in its queue, of at most " +
                           std::to_string(mostAnswers) + "; try again later"));
  }
  reply->notes().model = model;
  auto call = std::make_shared<Call>();
  call->head = {request.endpoint, (isChat ? "chatcmpl-" : "cmpl-") + id, model,
                std::time(nullptr)};
  call->reply = reply;
  call->streams = request.streams;
  call->reportsUsage = request.reportsUsage;
  call->reportsUsageOften = request.reportsUsageOften;
  call->tools = request.tools;
  call->keepsStopString = request.keepsStopString;
  call->isEchoAlone = request.isEchoAlone;
  call->arrival = Clock::now();
  auto requests = requestsOf(request, *call);
  if (!requests)
    return reply->send(400, jsonType, errorBody(400, requests.message()));
  start(call, *std::move(requests));
}

/// The requests of a call, and its answers.
Expected<std::vector<serve::Request>>
Completions::requestsOf(const CompletionRequest& request, Call& call) {
  Expected<serve::SamplingOptions> options = optionsOf(request);
  RECIPERUN_TRY(options);
  const auto masks = masksOf(request);
  call.answersToPrompt = request.sampling.n;
  call.stopStrings = options->stopStrings;
  std::vector<serve::Request> made;
  const std::string& model = request.common.model;
  for (const serve::PromptContent& content : request.prompts) {
    const auto ids = promptIds(served, content, request.common);
    RECIPERUN_TRY(ids);
    call.promptTokens.push_back(int64_t(ids->size()));
    const std::string echo =
        request.echoes ? echoOf(content, *ids, request.skipsSpecial) : "";
    for (int64_t i = 0; i < request.sampling.n; ++i) {
      serve::Request& each = made.emplace_back();
      each.prompt = *ids;
      each.sampling = *options;
      each.sampling.seed += uint64_t(i);
      each.priority = request.common.priority;
      each.cacheSalt = request.common.cacheSalt;
      if (served.isAdapter(model))
        each.adapter = model;
      if (masks)
        each.constraint = std::make_shared<serve::GrammarConstraint>(
            masks, served.folder.endTokens);
      addAnswer(request, *options, *ids, call).part.text = echo;
    }
  }
  return made;
}

Completions::Answer&
Completions::addAnswer(const CompletionRequest& request,
                       const serve::SamplingOptions& options,
                       const std::vector<int32_t>& prompt, Call& call) {
  Answer& answer =
      call.answers.emplace_back(serve::AnswerText(served.tokenizer(), options));
  AnswerPart& part = answer.part;
  part.index = call.answers.size() - 1;
  part.isFirst = true;
  part.reportsLogprobs = options.logprobs >= 0;
  part.reportsPrompt = request.sampling.promptLogprobs >= 0;
  part.echoesLogprobs = request.echoes && part.reportsLogprobs;
  if (part.reportsPrompt || part.echoesLogprobs)
    part.prompt.ids = prompt;
  return answer;
}

/// The text of a prompt that precedes its answers.
std::string Completions::echoOf(const serve::PromptContent& content,
                                const std::vector<int32_t>& ids,
                                bool skipsSpecial) const {
  const auto* const text = std::get_if<std::string>(&content);
  return text ? *text : served.tokenizer().decode(ids, skipsSpecial);
}

Expected<serve::SamplingOptions>
Completions::optionsOf(const CompletionRequest& request) {
  SamplingArguments arguments = request.sampling;
  if (const auto& defaults = served.defaults) {
    fillIn(arguments.temperature, std::optional(defaults->temperature));
    fillIn(arguments.topK, defaults->topK);
    fillIn(arguments.topP, defaults->topP);
    fillIn(arguments.minP, defaults->minP);
    fillIn(arguments.repetitionPenalty, defaults->repetitionPenalty);
  }
  fillIn(arguments.temperature, std::optional(1.0));
  fillIn(arguments.maxTokens, std::optional(served.limits().maxOutput));
  if (!request.hasSeed)
    arguments.seed = seeds();
  // An echo also reports the log probabilities of the prompt.
  if (request.echoes && arguments.logprobs > arguments.promptLogprobs)
    arguments.promptLogprobs = arguments.logprobs;
  auto options = serve::samplingOptionsOf(arguments, served.folder.path,
                                          served.tokenizer(), served.vocab);
  RECIPERUN_TRY(options);
  options->keepsStopString = request.keepsStopString;
  options->skipsSpecial = request.skipsSpecial;
  return options;
}

/// Null without a grammar.
std::shared_ptr<grammar::MaskTable>
Completions::masksOf(const CompletionRequest& request) {
  if (!request.grammar)
    return nullptr;
  if (!vocabulary)
    vocabulary = serve::vocabularyOf(served.tokenizer(), served.vocab);
  return std::make_shared<grammar::MaskTable>(request.grammar, vocabulary);
}

void Completions::start(const std::shared_ptr<Call>& call,
                        std::vector<serve::Request> requests) {
  call->missing = requests.size();
  std::shared_ptr<AnswerGroup> group; // of the answers to a prompt
  for (size_t i = 0; i < requests.size(); ++i) {
    Answer& answer = call->answers[i];
    const int64_t n = call->answersToPrompt;
    if (int64_t(i) % n == 0)
      group = std::make_shared<AnswerGroup>(n, n);
    answer.ticket = engine.submit(std::move(requests[i]),
                                  [this, call, &answer](EngineUpdate update) {
                                    hear(*call, answer, std::move(update));
                                  },
                                  {.arrival = call->arrival, .group = group});
  }
  call->reply->whenEnded([this, weak = std::weak_ptr(call)](bool isComplete) {
    if (const auto gone = weak.lock(); gone && !isComplete)
      endAnswers(*gone);
  });
}

/// Records the tokens of a call for the access log and the limits of clients.
void Completions::note(Call& call) {
  const Usage usage = usageOf(call);
  call.reply->notes().promptTokens = usage.promptTokens;
  call.reply->notes().answerTokens = usage.answerTokens;
}

/// Cancels the answers that have not ended.
void Completions::endAnswers(Call& call) {
  note(call);
  for (Answer& answer : call.answers) {
    if (answer.hasEnded)
      continue;
    answer.hasEnded = true;
    engine.cancel(answer.ticket, FinishReason::cancelled);
  }
}

// ---- progress

/// A failure in here ends only this call.
void Completions::hear(Call& call, Answer& answer, EngineUpdate update) {
  try {
    take(call, answer, std::move(update));
  } catch (const std::exception& failure) { // memory is short
    logLine(LogLevel::error,
            "a request failed: " + std::string(failure.what()));
    fail(call, 500, "the server has failed");
  }
}

void Completions::take(Call& call, Answer& answer, EngineUpdate update) {
  if (answer.hasEnded)
    return;
  if (!update.refusal.isOk())
    return fail(call, 400, update.refusal.message());
  if (update.progress.finished == FinishReason::failed)
    return fail(call, 500, update.progress.error);
  take(call, answer, std::move(update.progress));
}

void Completions::take(Call& call, Answer& answer, Progress progress) {
  answer.cachedTokens = progress.course.cachedTokens;
  if (!answer.part.prompt.ids.empty())
    std::ranges::move(progress.scoredPrompt,
                      std::back_inserter(answer.part.prompt.rest));
  if (!call.isEchoAlone)
    addTokens(call, answer, std::move(progress.tokens));
  const bool hasStopToken = progress.endedBy >= 0 && !answer.isStopping;
  if (hasStopToken && call.keepsStopString)
    addText(call, answer, answer.decoder.next(progress.endedBy));
  if (progress.finished == FinishReason::stopToken && !answer.isStopping)
    answer.part.stopToken = progress.endedBy;
  if (progress.finished)
    end(call, answer, *progress.finished);
  else if (answer.isStopping) {
    engine.cancel(answer.ticket, FinishReason::stopString);
    end(call, answer, FinishReason::stopString);
  } else if (call.streams && answer.tokens > 0 && !answer.part.text.empty())
    sendChunk(call, answer);
}

/// Adds tokens up to a stop string.
void Completions::addTokens(const Call& call, Answer& answer,
                            std::vector<SampledToken> tokens) {
  for (SampledToken& token : tokens) {
    if (answer.isStopping)
      return;
    ++answer.tokens;
    addText(call, answer, answer.decoder.next(token.id));
    if (answer.part.reportsLogprobs)
      answer.part.tokens.push_back(std::move(token));
    answer.isStopping = answer.decoder.stopString().has_value();
  }
}

/// Adds text to the answer. Holds back text that may belong to a tool call.
void Completions::addText(const Call& call, Answer& answer,
                          const std::string& text) {
  if (call.tools.choice == ToolChoice::none) {
    answer.part.text += text;
    return;
  }
  answer.held += text;
  const size_t content =
      bytesOfContent(answer.held, call.tools, answer.hasContent);
  answer.hasContent = answer.hasContent || content > 0;
  answer.part.text += answer.held.substr(0, content);
  answer.held.erase(0, content);
}

/// The answer is complete.
void Completions::end(Call& call, Answer& answer, FinishReason reason) {
  answer.hasEnded = true;
  addText(call, answer, answer.decoder.finish());
  if (!answer.held.empty()) {
    ToolAnswer rest = splitAnswer(answer.held, call.tools, answer.hasContent);
    answer.part.text += rest.content;
    answer.part.calls = std::move(rest.calls);
  }
  answer.part.finished = answer.isStopping ? FinishReason::stopString : reason;
  if (call.isEchoAlone)
    answer.part.finished = FinishReason::tokenLimit;
  if (answer.isStopping)
    answer.part.stopString = call.stopStrings[*answer.decoder.stopString()];
  --call.missing;
  if (call.streams)
    sendChunk(call, answer);
  if (call.missing == 0)
    sendAll(call);
}

/// Ends a call with an error.
void Completions::fail(Call& call, int status, const std::string& message) {
  endAnswers(call);
  if (!call.hasBegun)
    return call.reply->send(status, jsonType, errorBody(status, message));
  call.reply->write(errorEvent(status, message));
  call.reply->write(doneEvent);
  call.reply->endStream();
}

// ---- answers

Usage Completions::usageOf(const Call& call) {
  Usage usage;
  for (int64_t tokens : call.promptTokens)
    usage.promptTokens += tokens;
  for (size_t i = 0; i < call.answers.size(); ++i) {
    usage.answerTokens += call.answers[i].tokens;
    if (int64_t(i) % call.answersToPrompt == 0) // its prompt's first answer
      usage.cachedTokens += call.answers[i].cachedTokens;
  }
  return usage;
}

/// Sends what an answer has since its last chunk.
void Completions::sendChunk(Call& call, Answer& answer) {
  if (!std::exchange(call.hasBegun, true))
    call.reply->beginStream("text/event-stream; charset=utf-8");
  const Usage usage = usageOf(call);
  answer.part.textOffset = answer.textBytes;
  call.reply->write(chunkEvent(call.head, &answer.part,
                               call.reportsUsageOften ? &usage : nullptr,
                               call.reportsUsage, served.tokenizer()));
  answer.textBytes += answer.part.text.size();
  answer.part.isFirst = false;
  answer.part.echoesLogprobs = false;
  answer.part.text.clear();
  answer.part.tokens.clear();
}

/// Completes a call whose answers have all ended.
void Completions::sendAll(Call& call) {
  note(call);
  const Usage usage = usageOf(call);
  if (!call.streams) {
    std::vector<AnswerPart> parts;
    for (Answer& answer : call.answers)
      parts.push_back(std::move(answer.part));
    return call.reply->send(
        200, jsonType,
        completionBody(call.head, parts, usage, served.tokenizer()));
  }
  if (call.reportsUsage)
    call.reply->write(
        chunkEvent(call.head, nullptr, &usage, true, served.tokenizer()));
  call.reply->write(doneEvent);
  call.reply->endStream();
}

} // namespace reciperun::server
