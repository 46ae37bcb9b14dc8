// See CompletionJson.h. Fields and their order are those of vLLM.

#include "runtime/server/openai/CompletionJson.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace reciperun::server {
namespace {

using Json = nlohmann::ordered_json;
using serve::SampledToken;

/// JSON has no infinity.
constexpr double leastLogprob = -9999;

std::string eventOf(const Json& json) {
  return "data: " + jsonText(json) + "\n\n";
}

double logprobOf(float logprob) {
  return std::max(double(logprob), leastLogprob);
}

std::string tokenText(const data::Tokenizer& tokenizer, int32_t id) {
  return tokenizer.decode(std::span(&id, 1), /*skipSpecial=*/false);
}

Json chatLogprob(const data::Tokenizer& tokenizer, int32_t id, float logprob) {
  Json bytes = Json::array();
  for (const char byte : tokenizer.bytesOf(id))
    bytes.push_back(int(uint8_t(byte)));
  return {{"token", tokenText(tokenizer, id)},
          {"logprob", logprobOf(logprob)},
          {"bytes", std::move(bytes)}};
}

Json chatLogprobs(const AnswerPart& part, const data::Tokenizer& tokenizer) {
  Json content = Json::array();
  for (const SampledToken& token : part.tokens) {
    Json made = chatLogprob(tokenizer, token.id, token.logprob);
    Json top = Json::array();
    for (const auto& [id, logprob] : token.top)
      top.push_back(chatLogprob(tokenizer, id, logprob));
    made["top_logprobs"] = std::move(top);
    content.push_back(std::move(made));
  }
  return {{"content", std::move(content)}};
}

Json textLogprobs(const AnswerPart& part, const data::Tokenizer& tokenizer) {
  Json offsets = Json::array(), logprobs = Json::array(),
       tokens = Json::array(), tops = Json::array();
  size_t offset = part.textOffset;
  const auto addToken = [&](int32_t id) {
    const std::string text = tokenText(tokenizer, id);
    offsets.push_back(offset);
    offset += text.size();
    tokens.push_back(text);
  };
  const auto add = [&](const SampledToken& token) {
    addToken(token.id);
    logprobs.push_back(logprobOf(token.logprob));
    Json top = Json::object();
    for (const auto& [id, logprob] : token.top)
      top[tokenText(tokenizer, id)] = logprobOf(logprob);
    tops.push_back(std::move(top));
  };
  if (part.echoesLogprobs) {
    addToken(part.prompt.ids.front());
    logprobs.push_back(nullptr);
    tops.push_back(nullptr);
    std::ranges::for_each(part.prompt.rest, add);
  }
  std::ranges::for_each(part.tokens, add);
  return {{"text_offset", std::move(offsets)},
          {"token_logprobs", std::move(logprobs)},
          {"tokens", std::move(tokens)},
          {"top_logprobs", std::move(tops)}};
}

/// vLLM's form: by token id.
Json promptLogprobs(const ScoredPrompt& prompt,
                    const data::Tokenizer& tokenizer) {
  Json all = Json::array({nullptr});
  for (const SampledToken& token : prompt.rest) {
    Json made = Json::object();
    const auto add = [&](int32_t id, float logprob, int64_t rank) {
      made[std::to_string(id)] = {{"logprob", logprobOf(logprob)},
                                  {"rank", rank},
                                  {"decoded_token", tokenText(tokenizer, id)}};
    };
    for (size_t i = 0; i < token.top.size(); ++i)
      add(token.top[i].first, token.top[i].second, int64_t(i) + 1);
    add(token.id, token.logprob, token.rank);
    all.push_back(std::move(made));
  }
  return all;
}

/// The calls of an answer. Their ids follow from the call's.
Json toolCallsJson(const CallHead& head, const AnswerPart& part, bool isChunk) {
  Json calls = Json::array();
  for (size_t i = 0; i < part.calls.size(); ++i) {
    Json call = Json::object();
    if (isChunk)
      call["index"] = i;
    call["id"] = "call-" + head.id + "-" + std::to_string(part.index) + "-" +
                 std::to_string(i);
    call["type"] = "function";
    call["function"] = {{"name", part.calls[i].name},
                        {"arguments", part.calls[i].arguments}};
    calls.push_back(std::move(call));
  }
  return calls;
}

/// The fields of an answer behind its text.
void addEnd(const CallHead& head, const AnswerPart& part,
            const data::Tokenizer& tokenizer, Json& choice) {
  Json& logprobs = choice["logprobs"];
  if (part.reportsLogprobs)
    logprobs = head.endpoint == Endpoint::chat ? chatLogprobs(part, tokenizer)
                                               : textLogprobs(part, tokenizer);
  Json& reason = choice["finish_reason"];
  if (part.finished)
    reason = part.calls.empty() ? finishName(*part.finished) : "tool_calls";
  Json& stop = choice["stop_reason"];
  if (part.stopString)
    stop = *part.stopString;
  else if (part.stopToken)
    stop = *part.stopToken;
}

Json usageJson(const Usage& usage) {
  return {{"prompt_tokens", usage.promptTokens},
          {"total_tokens", usage.promptTokens + usage.answerTokens},
          {"completion_tokens", usage.answerTokens},
          {"prompt_tokens_details", {{"cached_tokens", usage.cachedTokens}}}};
}

Json headJson(const CallHead& head, const char* chatObject) {
  return {{"id", head.id},
          {"object",
           head.endpoint == Endpoint::chat ? chatObject : "text_completion"},
          {"created", head.created},
          {"model", head.model}};
}

Json messageOf(const CallHead& head, const AnswerPart& part) {
  Json message = {{"role", "assistant"}, {"content", part.text}};
  if (part.calls.empty())
    return message;
  if (part.text.empty())
    message["content"] = nullptr;
  message["tool_calls"] = toolCallsJson(head, part, /*isChunk=*/false);
  return message;
}

Json deltaOf(const CallHead& head, const AnswerPart& part) {
  Json delta = Json::object();
  if (part.isFirst)
    delta["role"] = "assistant";
  if (part.isFirst || !part.text.empty())
    delta["content"] = part.text;
  if (!part.calls.empty())
    delta["tool_calls"] = toolCallsJson(head, part, /*isChunk=*/true);
  return delta;
}

} // namespace

std::string jsonText(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

const char* finishName(serve::FinishReason reason) {
  switch (reason) {
  case serve::FinishReason::endToken:
  case serve::FinishReason::stopString:
  case serve::FinishReason::stopToken:
    return "stop";
  case serve::FinishReason::tokenLimit:
  case serve::FinishReason::cacheFull:
    return "length";
  case serve::FinishReason::timeout:
  case serve::FinishReason::cancelled:
  case serve::FinishReason::failed:
    return "abort";
  }
  return "";
}

std::string completionBody(const CallHead& head,
                           std::span<const AnswerPart> answers,
                           const Usage& usage,
                           const data::Tokenizer& tokenizer) {
  Json body = headJson(head, "chat.completion");
  Json choices = Json::array();
  for (const AnswerPart& each : answers) {
    Json choice = {{"index", each.index}};
    if (head.endpoint == Endpoint::chat)
      choice["message"] = messageOf(head, each);
    else
      choice["text"] = each.text;
    addEnd(head, each, tokenizer, choice);
    if (each.reportsPrompt && head.endpoint == Endpoint::completions)
      choice["prompt_logprobs"] = promptLogprobs(each.prompt, tokenizer);
    choices.push_back(std::move(choice));
  }
  body["choices"] = std::move(choices);
  body["usage"] = usageJson(usage);
  if (answers[0].reportsPrompt && head.endpoint == Endpoint::chat)
    body["prompt_logprobs"] = promptLogprobs(answers[0].prompt, tokenizer);
  return jsonText(body);
}

std::string chunkEvent(const CallHead& head, const AnswerPart* part,
                       const Usage* usage, bool hasUsageField,
                       const data::Tokenizer& tokenizer) {
  Json chunk = headJson(head, "chat.completion.chunk");
  Json choices = Json::array();
  if (part) {
    Json choice = {{"index", part->index}};
    if (head.endpoint == Endpoint::chat)
      choice["delta"] = deltaOf(head, *part);
    else
      choice["text"] = part->text;
    addEnd(head, *part, tokenizer, choice);
    choices.push_back(std::move(choice));
  }
  chunk["choices"] = std::move(choices);
  if (usage)
    chunk["usage"] = usageJson(*usage);
  else if (hasUsageField)
    chunk["usage"] = nullptr;
  return eventOf(chunk);
}

std::string errorEvent(int status, const std::string& message) {
  return "data: " + errorBody(status, message) + "\n\n";
}

} // namespace reciperun::server
