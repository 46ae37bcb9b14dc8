// 1. Parse the body; 2. refuse what is not supported; 3. read the prompts;
// 4. bring the fields that OpenAI and vLLM write differently to vLLM's form and
// read the sampling options; 5. compile the grammar.

#include "runtime/server/openai/CompletionRequest.h"

#include "runtime/base/ParseJson.h"
#include "runtime/grammar/Choices.h"
#include "runtime/grammar/Gbnf.h"
#include "runtime/grammar/Regex.h"
#include "runtime/grammar/schema/JsonSchema.h"
#include "runtime/serve/prompts/ChatInput.h"
#include "runtime/serve/prompts/SamplingFields.h"
#include "runtime/server/openai/BodyFields.h"

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <utility>

namespace reciperun::server {
namespace {

using Json = nlohmann::ordered_json;

constexpr int mostTopLogprobs = 20;
constexpr int64_t usualCompletionTokens = 16; // as OpenAI's and vLLM's

// ---- what this version does not do

Status refuseUnsupported(Endpoint endpoint, const Json& body) {
  static const std::vector<UnsupportedField> ofBoth = {
      {"use_beam_search", {false}},
      {"prompt_embeds"},
      {"logits_processors", {Json::array()}},
      {"allowed_token_ids", {Json::array()}},
      {"logprob_token_ids", {Json::array()}},
      {"return_token_ids", {false}},
      {"return_tokens_as_token_ids", {false}},
      {"kv_transfer_params"},
      {"vllm_xargs", {Json::object()}},
      // vLLM's names before `structured_outputs`
      {"guided_json"},
      {"guided_regex"},
      {"guided_choice"},
      {"guided_grammar"},
  };
  static const std::vector<UnsupportedField> ofChats = {
      {"functions", {Json::array()}},
      {"function_call", {"none", "auto"}},
      {"audio"},
      {"modalities", {Json::array({"text"})}},
      {"echo", {false}},
      {"chat_template"},
      {"documents", {Json::array()}},
      {"mm_processor_kwargs", {Json::object()}},
      {"media_io_kwargs", {Json::object()}},
      {"add_special_tokens", {false}},
      {"reasoning_effort", {"none"}},
      {"thinking_token_budget"},
  };
  static const std::vector<UnsupportedField> ofTexts = {
      {"suffix", {""}},
      {"add_special_tokens", {true}},
  };
  RECIPERUN_TRY(server::refuseUnsupported(body, ofBoth));
  return server::refuseUnsupported(body, endpoint == Endpoint::chat ? ofChats
                                                                    : ofTexts);
}

/// Refuses `best_of` other than `n`: the server cannot choose the best answers.
Status checkBestOf(const Json& body, int64_t n) {
  const Json* const best = findField(body, "best_of");
  if (!best || *best == n)
    return Status::ok();
  return Status::error("`best_of` other than `n` is not supported in this "
                       "version; leave it out");
}

// ---- prompts

Status readMessages(const Json& body, CompletionRequest& request) {
  const Json* const messages = findField(body, "messages");
  if (!messages)
    return Status::error("`messages` is missing");
  if (messages->is_array() && messages->empty())
    return Status::error("`messages` is empty");
  Expected<serve::ChatInput> input = serve::readChatInput(body);
  RECIPERUN_TRY(input);
  Expected<Tools> tools = readTools(body);
  RECIPERUN_TRY(tools);
  const bool mayCall = tools->choice != ToolChoice::none;
  input->tools = mayCall ? tools->declared : nullptr;
  request.tools = *std::move(tools);
  request.prompts.emplace_back(*std::move(input));
  return Status::ok();
}

// ---- sampling

/// In a chat, `logprobs` says whether to report log probabilities, and
/// `top_logprobs` how many. Merges both into a number.
Status numberLogprobs(Json& body) {
  bool isWanted = false;
  RECIPERUN_TRY(readFlag(body, "logprobs", isWanted));
  body.erase("logprobs");
  const Json* const top = findField(body, "top_logprobs");
  if (top && !isWanted)
    return Status::error("when using `top_logprobs`, `logprobs` must be set to "
                         "true");
  if (top && (!top->is_number_integer() || *top < 0 || *top > mostTopLogprobs))
    return wrongType("top_logprobs", "a whole number from 0 to 20");
  if (isWanted)
    body["logprobs"] = top ? top->get<unsigned>() : 0u;
  return Status::ok();
}

/// An echo with `max_tokens` 0 asks for the prompt alone.
Status readEcho(Json& body, CompletionRequest& request) {
  RECIPERUN_TRY(readFlag(body, "echo", request.echoes));
  const Json* const most = findField(body, "max_tokens");
  request.isEchoAlone = request.echoes && most && *most == 0;
  if (request.isEchoAlone)
    body["max_tokens"] = 1u;
  return Status::ok();
}

Status readSampling(Json body, CompletionRequest& request) {
  if (request.endpoint == Endpoint::chat)
    RECIPERUN_TRY(numberLogprobs(body));
  if (const Json* most = findField(body, "max_completion_tokens"))
    body["max_tokens"] = Json(*most);
  if (request.endpoint == Endpoint::completions)
    RECIPERUN_TRY(readEcho(body, request));
  serve::SamplingArguments& sampling = request.sampling;
  RECIPERUN_TRY(serve::readSamplingFields(body, sampling));
  if (sampling.logprobs > mostTopLogprobs)
    return wrongType("logprobs", "a whole number from 0 to 20");
  if (sampling.promptLogprobs > mostTopLogprobs)
    return wrongType("prompt_logprobs", "a whole number from 0 to 20");
  if (sampling.promptLogprobs >= 0 && request.streams)
    return Status::error("`prompt_logprobs` are not available when "
                         "`stream=True`.");
  if (!sampling.maxTokens && request.endpoint == Endpoint::completions)
    sampling.maxTokens = usualCompletionTokens;
  request.hasSeed = findField(body, "seed") != nullptr;
  RECIPERUN_TRY(checkBestOf(body, sampling.n));
  RECIPERUN_TRY(
      readFlag(body, "include_stop_str_in_output", request.keepsStopString));
  return readFlag(body, "skip_special_tokens", request.skipsSpecial);
}

Status readStreaming(const Json& body, CompletionRequest& request) {
  RECIPERUN_TRY(readFlag(body, "stream", request.streams));
  const Json* const options = findField(body, "stream_options");
  if (!options)
    return Status::ok();
  if (!request.streams)
    return Status::error(
        "`stream_options` can only be used when `stream` is True");
  if (!options->is_object())
    return wrongType("stream_options", "an object");
  RECIPERUN_TRY(readFlag(*options, "include_usage", request.reportsUsage));
  RECIPERUN_TRY(
      readFlag(*options, "continuous_usage_stats", request.reportsUsageOften));
  request.reportsUsageOften = request.reportsUsageOften && request.reportsUsage;
  return Status::ok();
}

// ---- structured output

using MaybeRules = std::optional<Expected<grammar::Rules>>;

/// `response_format` of OpenAI.
MaybeRules rulesOfFormat(const Json& body) {
  const Json* const format = findField(body, "response_format");
  if (!format)
    return std::nullopt;
  if (!format->is_object() || !findField(*format, "type"))
    return wrongType("response_format", "an object with `type`");
  const Json& type = *findField(*format, "type");
  if (type == "text")
    return std::nullopt;
  if (type == "json_object")
    return grammar::rulesOfJsonSchema(R"({"type":"object"})");
  if (type != "json_schema")
    return wrongType("response_format.type",
                     "`text`, `json_object` or `json_schema`");
  const Json* const named = findField(*format, "json_schema");
  const Json* const schema =
      named && named->is_object() ? findField(*named, "schema") : nullptr;
  if (!schema)
    return Status::error("`response_format` of type `json_schema` needs "
                         "`json_schema.schema`");
  return grammar::rulesOfJsonSchema(schema->dump());
}

/// `structured_outputs` of vLLM.
MaybeRules rulesOfOutputs(const Json& body) {
  const Json* const outputs = findField(body, "structured_outputs");
  if (!outputs)
    return std::nullopt;
  if (!outputs->is_object())
    return wrongType("structured_outputs", "an object");
  if (const Json* schema = findField(*outputs, "json"))
    return grammar::rulesOfJsonSchema(
        schema->is_string() ? schema->get<std::string>() : schema->dump());
  std::string text;
  if (findField(*outputs, "regex")) {
    if (Status read = readText(*outputs, "regex", text); !read.isOk())
      return read;
    return grammar::rulesOfRegex(text);
  }
  if (findField(*outputs, "grammar")) {
    if (Status read = readText(*outputs, "grammar", text); !read.isOk())
      return read;
    return grammar::rulesOfGbnf(text);
  }
  const Json* const choices = findField(*outputs, "choice");
  if (!choices)
    return Status::error("`structured_outputs` needs one of `json`, `regex`, "
                         "`choice` and `grammar`");
  std::vector<std::string> texts;
  for (const Json& each :
       choices->is_array() ? *choices : Json::array({*choices})) {
    if (!each.is_string())
      return wrongType("structured_outputs.choice", "a list of texts");
    texts.push_back(each.get<std::string>());
  }
  return grammar::rulesOfChoices(texts);
}

/// A tool choice that holds the answer to calls.
MaybeRules rulesOfTools(const Tools& tools) {
  if (tools.choice != ToolChoice::required && tools.choice != ToolChoice::named)
    return std::nullopt;
  return grammar::rulesOfJsonSchema(schemaOf(tools));
}

Status readGrammar(const Json& body, CompletionRequest& request) {
  struct Source {
    const char* field;
    MaybeRules rules;
  };
  Source sources[] = {{"response_format", rulesOfFormat(body)},
                      {"structured_outputs", rulesOfOutputs(body)},
                      {"tools", rulesOfTools(request.tools)}};
  Source* given = nullptr;
  for (Source& each : sources) {
    if (!each.rules)
      continue;
    if (given)
      return Status::error("`" + std::string(given->field) + "` and `" +
                           each.field +
                           "` exclude each other; leave one of them out");
    given = &each;
  }
  if (!given)
    return Status::ok();
  const std::string field = "`" + std::string(given->field) + "`";
  RECIPERUN_TRY(given->rules->status().withContext(field));
  auto made = grammar::Automaton::compile(std::move(**given->rules));
  RECIPERUN_TRY(made.status().withContext(field));
  request.grammar =
      std::make_shared<const grammar::Automaton>(*std::move(made));
  return Status::ok();
}

} // namespace

Expected<CompletionRequest> readCompletionRequest(Endpoint endpoint,
                                                  std::string_view body) {
  Expected<Json> json = parseOrderedJson(body, {.noun = "body"});
  RECIPERUN_TRY(json);
  if (!json->is_object())
    return Status::error("the body must be a JSON object");
  CompletionRequest request;
  request.endpoint = endpoint;
  RECIPERUN_TRY(refuseUnsupported(endpoint, *json));
  RECIPERUN_TRY(readCommonFields(*json, request.common));
  RECIPERUN_TRY(endpoint == Endpoint::chat
                    ? readMessages(*json, request)
                    : readPrompts(*json, "prompt", request.prompts));
  RECIPERUN_TRY(readStreaming(*json, request));
  RECIPERUN_TRY(readGrammar(*json, request));
  RECIPERUN_TRY(readSampling(*std::move(json), request));
  return request;
}

bool mayHaveGrammar(std::string_view body) {
  // An escape may spell a field's name.
  constexpr std::string_view signs[] = {"response_format", "structured_outputs",
                                        "tools", "\\u"};
  return std::ranges::any_of(signs, [&](std::string_view sign) {
    return body.find(sign) != std::string_view::npos;
  });
}

} // namespace reciperun::server
