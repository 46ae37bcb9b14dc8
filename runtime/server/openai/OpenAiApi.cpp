// See OpenAiApi.h.

#include "runtime/server/openai/OpenAiApi.h"

#include "runtime/base/ParseJson.h"
#include "runtime/serve/prompts/ChatInput.h"

#include <nlohmann/json.hpp>

#include <ctime>
#include <string_view>

namespace reciperun::server {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view modelPrefix = "/v1/models/";

Json modelJson(const ApiModel& served, const std::string& name) {
  Json made = {{"id", name},
               {"object", "model"},
               {"created", served.created},
               {"owned_by", "recipec"},
               {"root", served.name},
               {"parent", nullptr},
               {"max_model_len", served.limits().maxTokens}};
  if (served.isAdapter(name))
    made["parent"] = served.name;
  return made;
}

Expected<Json> objectOf(const HttpRequest& request) {
  Expected<Json> body = parseOrderedJson(request.body, {.noun = "body"});
  if (body && !body->is_object())
    return Status::error("the body must be a JSON object");
  return body;
}

/// The ids that a body of /tokenize asks for.
Expected<std::vector<int32_t>> idsOf(const ApiModel& served, const Json& body) {
  if (findField(body, "messages")) {
    const auto input = serve::readChatInput(body);
    RECIPERUN_TRY(input);
    return served.prompts.ofAnyLength(*input, std::time(nullptr));
  }
  std::string text;
  bool addsSpecial = true;
  if (!findField(body, "prompt"))
    return Status::error("`prompt` is missing");
  RECIPERUN_TRY(readText(body, "prompt", text));
  RECIPERUN_TRY(readFlag(body, "add_special_tokens", addsSpecial));
  auto ids = served.prompts.ofTextOfAnyLength(text);
  RECIPERUN_TRY(ids);
  const int64_t first = served.folder.plan.data.bosToken;
  if (!addsSpecial && first >= 0 && !ids->empty() && ids->front() == first)
    ids->erase(ids->begin());
  return ids;
}

} // namespace

const OpenAiApi::Route OpenAiApi::routes[] = {
    {"GET", "/health", &OpenAiApi::health, false},
    {"GET", "/ping", &OpenAiApi::ping, false},
    {"POST", "/ping", &OpenAiApi::ping, false},
    {"GET", "/load", &OpenAiApi::showLoad, false},
    {"GET", "/version", &OpenAiApi::version, false},
    {"GET", "/metrics", &OpenAiApi::showMetrics, false},
    {"GET", "/", &OpenAiApi::showPage, false},
    {"GET", "/status", &OpenAiApi::showStatus, false},
    {"GET", "/v1/models", &OpenAiApi::listModels, true},
    {"POST", "/v1/chat/completions", &OpenAiApi::chat, true},
    {"POST", "/v1/completions", &OpenAiApi::complete, true},
    {"POST", "/v1/embeddings", &OpenAiApi::embed, true},
    {"POST", "/tokenize", &OpenAiApi::tokenize, true},
    {"POST", "/detokenize", &OpenAiApi::detokenize, true},
};

void OpenAiApi::open(const ApiModel& given) {
  served = &given;
  engine.setMetrics(
      metrics.addEngine(factsOf(given.name, given.folder.plan), [this] {
        engine.takeReport();
        return engine.statistics();
      }));
  completions.emplace(given, engine, settings.mostAnswers);
  embeddings.emplace(given, engine, settings.mostAnswers);
  state = ServerState::ready;
}

void OpenAiApi::answer(const HttpRequest& request, const Reply& reply) {
  const Route* found = nullptr;
  bool isKnown = false;
  for (const Route& each : routes)
    if (request.path == each.path) {
      isKnown = true;
      if (request.method == each.method)
        found = &each;
    }
  const bool isModel = request.path.starts_with(modelPrefix);
  if (!found && (isKnown || (isModel && request.method != "GET")))
    return refuse(405, "Method Not Allowed", reply);
  if (!found && !isModel)
    return refuse(404, "Not Found", reply);
  if (!served && (isModel || found->needsModel))
    return state == ServerState::loading
               ? refuse(503, "the model is loading", reply)
               : refuse(404, "this server has no language model", reply);
  if (isModel)
    return showModel(request, reply);
  (this->*found->answer)(request, reply);
}

void OpenAiApi::refuse(int status, const std::string& message,
                       const Reply& reply) {
  reply->send(status, jsonType, errorBody(status, message));
}

void OpenAiApi::health(const HttpRequest&, const Reply& reply) {
  reply->send(isReady() ? 200 : 503, jsonType, "");
}

/// As load balancers of SageMaker ask.
void OpenAiApi::ping(const HttpRequest& request, const Reply& reply) {
  health(request, reply);
}

void OpenAiApi::showLoad(const HttpRequest&, const Reply& reply) {
  reply->send(200, jsonType,
              jsonText({{"server_load", engine.openRequests()}}));
}

void OpenAiApi::version(const HttpRequest&, const Reply& reply) {
  reply->send(200, jsonType, jsonText({{"version", settings.version}}));
}

void OpenAiApi::showMetrics(const HttpRequest&, const Reply& reply) {
  reply->send(200, metrics::contentType, metrics.text());
}

void OpenAiApi::showPage(const HttpRequest&, const Reply& reply) {
  page.sendPage(*reply);
}

void OpenAiApi::showStatus(const HttpRequest&, const Reply& reply) {
  page.sendStatus(*reply, settings.version, stateName());
}

const char* OpenAiApi::stateName() const {
  if (!engine.failure().isOk())
    return "failed";
  switch (state) {
  case ServerState::loading:
    return "loading";
  case ServerState::ready:
    return engine.health().isOk() ? "ready" : "stalled";
  case ServerState::draining:
    return "draining";
  }
  return "";
}

void OpenAiApi::listModels(const HttpRequest&, const Reply& reply) {
  Json all = Json::array({modelJson(*served, served->name)});
  for (const std::string& adapter : served->adapters)
    all.push_back(modelJson(*served, adapter));
  reply->send(200, jsonType,
              jsonText({{"object", "list"}, {"data", std::move(all)}}));
}

void OpenAiApi::showModel(const HttpRequest& request, const Reply& reply) {
  const std::string name = request.path.substr(modelPrefix.size());
  if (!served->has(name))
    return refuse(404, "The model `" + name + "` does not exist.", reply);
  reply->send(200, jsonType, jsonText(modelJson(*served, name)));
}

void OpenAiApi::chat(const HttpRequest& request, const Reply& reply) {
  completion(Endpoint::chat, request, reply);
}

void OpenAiApi::complete(const HttpRequest& request, const Reply& reply) {
  completion(Endpoint::completions, request, reply);
}

bool OpenAiApi::admits(const HttpRequest& request, const Reply& reply) const {
  if (state == ServerState::draining)
    refuse(503, "the server is shutting down", reply);
  else if (!engine.failure().isOk())
    refuse(503, "the engine has failed", reply);
  else if (!request.header("content-type").starts_with(jsonType))
    refuse(400, "Unsupported Media Type: Only 'application/json' is allowed",
           reply);
  else
    return true;
  return false;
}

void OpenAiApi::completion(Endpoint endpoint, const HttpRequest& request,
                           const Reply& reply) {
  if (!admits(request, reply))
    return;
  if (background && mayHaveGrammar(request.body))
    return readInBackground(endpoint, request, reply);
  takeRead(readCompletionRequest(endpoint, request.body),
           request.header("x-request-id"), reply);
}

void OpenAiApi::readInBackground(Endpoint endpoint, const HttpRequest& request,
                                 const Reply& reply) {
  using Read = Expected<CompletionRequest>;
  const auto read = std::make_shared<Read>(Status::error("it was not read"));
  ++reads;
  background(
      [read, endpoint, body = std::string(request.body)] {
        try {
          *read = readCompletionRequest(endpoint, body);
        } catch (const std::exception& failure) { // memory is short
          *read = Status::error("the request cannot be read: " +
                                std::string(failure.what()));
        }
      },
      [this, read, id = std::string(request.header("x-request-id")), reply] {
        --reads;
        if (reply->isOpen())
          takeRead(std::move(*read), id, reply);
      });
}

void OpenAiApi::takeRead(Expected<CompletionRequest> read,
                         const std::string& id, const Reply& reply) {
  if (!read)
    return refuse(400, read.message(), reply);
  completions->answer(*std::move(read), id, reply);
}

void OpenAiApi::embed(const HttpRequest& request, const Reply& reply) {
  if (!admits(request, reply))
    return;
  auto read = readEmbeddingRequest(request.body);
  if (!read)
    return refuse(400, read.message(), reply);
  embeddings->answer(*std::move(read), request.header("x-request-id"), reply);
}

/// The ids are those of a completion or a chat with the same fields.
void OpenAiApi::tokenize(const HttpRequest& request, const Reply& reply) {
  if (!admits(request, reply))
    return;
  const Expected<Json> body = objectOf(request);
  if (!body)
    return refuse(400, body.message(), reply);
  const auto ids = idsOf(*served, *body);
  if (!ids)
    return refuse(400, ids.message(), reply);
  Json strings = nullptr;
  if (body->value("return_token_strs", Json()) == true) {
    strings = Json::array();
    for (const int32_t id : *ids)
      strings.push_back(served->tokenizer().decode(std::span(&id, 1),
                                                   /*skipSpecial=*/false));
  }
  reply->send(200, jsonType,
              jsonText({{"count", ids->size()},
                        {"max_model_len", served->limits().maxTokens},
                        {"tokens", *ids},
                        {"token_strs", std::move(strings)}}));
}

void OpenAiApi::detokenize(const HttpRequest& request, const Reply& reply) {
  if (!admits(request, reply))
    return;
  const Expected<Json> body = objectOf(request);
  if (!body)
    return refuse(400, body.message(), reply);
  const auto tokens = body->find("tokens");
  std::vector<int32_t> ids;
  bool isValid = tokens != body->end() && tokens->is_array();
  for (size_t i = 0; isValid && i < tokens->size(); ++i) {
    const Json& each = (*tokens)[i];
    isValid = each.is_number_unsigned() &&
              each.get<uint64_t>() < uint64_t(served->tokenizer().size());
    if (isValid)
      ids.push_back(each.get<int32_t>());
  }
  if (!isValid)
    return refuse(400, "`tokens` must be a list of token ids of the vocabulary",
                  reply);
  reply->send(200, jsonType,
              jsonText({{"prompt", served->tokenizer().decode(
                                       ids, /*skipSpecial=*/false)}}));
}

} // namespace reciperun::server
