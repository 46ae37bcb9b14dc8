// See Embeddings.h. Fields and their order are those of vLLM.

#include "runtime/server/openai/Embeddings.h"

#include "runtime/base/Log.h"
#include "runtime/server/http/ErrorBody.h"
#include "runtime/server/openai/CompletionJson.h"
#include "runtime/server/openai/PromptIds.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <ctime>
#include <utility>

namespace reciperun::server {
namespace {

using Json = nlohmann::ordered_json;

Json vectorJson(const std::vector<float>& vector, bool isBase64) {
  if (isBase64)
    return base64Of(vector);
  return vector;
}

} // namespace

void normalize(std::vector<float>& vector) {
  double squares = 0;
  for (const float each : vector)
    squares += double(each) * double(each);
  if (squares == 0)
    return;
  const double norm = std::sqrt(squares);
  for (float& each : vector)
    each = float(double(each) / norm);
}

std::string base64Of(const std::vector<float>& vector) {
  constexpr const char* digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                 "abcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  for (const float each : vector)
    for (int shift = 0; shift < 32; shift += 8)
      bytes += char(std::bit_cast<uint32_t>(each) >> shift);
  std::string text;
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t count = std::min<size_t>(3, bytes.size() - i);
    uint32_t group = 0;
    for (size_t j = 0; j < 3; ++j)
      group = group << 8 | (j < count ? uint8_t(bytes[i + j]) : 0);
    for (size_t j = 0; j < 4; ++j)
      text += j <= count ? digits[group >> (18 - 6 * j) & 63] : '=';
  }
  return text;
}

void Embeddings::answer(EmbeddingRequest request, const std::string& id,
                        const std::shared_ptr<HttpReply>& reply) {
  std::string& model = request.common.model;
  if (model.empty())
    model = served.name;
  if (!served.has(model))
    return reply->send(
        404, jsonType,
        errorBody(404, "The model `" + model + "` does not exist."));
  if (engine.openRequests() + request.inputs.size() > mostAnswers) {
    reply->addHeader("Retry-After", "1");
    return reply->send(503, jsonType,
                       errorBody(503, "the server is full; try again later"));
  }
  reply->notes().model = model;
  auto call = std::make_shared<Call>();
  call->id = "embd-" + id;
  call->model = model;
  call->isBase64 = request.isBase64;
  call->dimensions = request.dimensions;
  call->reply = reply;
  auto requests = requestsOf(request, *call);
  if (!requests)
    return reply->send(400, jsonType, errorBody(400, requests.message()));
  start(call, *std::move(requests));
}

Expected<std::vector<serve::Request>>
Embeddings::requestsOf(const EmbeddingRequest& request, Call& call) const {
  std::vector<serve::Request> made;
  for (const serve::PromptContent& input : request.inputs) {
    auto ids = promptIds(served, input, request.common);
    RECIPERUN_TRY(ids);
    call.promptTokens += int64_t(ids->size());
    serve::Request& each = made.emplace_back();
    each.prompt = *std::move(ids);
    each.sampling.temperature = 0;
    each.sampling.maxTokens = 1;
    each.priority = request.common.priority;
    each.cacheSalt = request.common.cacheSalt;
    each.embeds = true;
    if (served.isAdapter(call.model))
      each.adapter = call.model;
  }
  return made;
}

void Embeddings::start(const std::shared_ptr<Call>& call,
                       std::vector<serve::Request> requests) {
  call->missing = requests.size();
  call->vectors.resize(requests.size());
  for (size_t i = 0; i < requests.size(); ++i)
    call->tickets.push_back(engine.submit(std::move(requests[i]),
                                          [this, call, i](EngineUpdate update) {
                                            take(*call, i, std::move(update));
                                          }));
  call->reply->whenEnded([this, weak = std::weak_ptr(call)](bool isComplete) {
    if (const auto gone = weak.lock(); gone && !isComplete)
      cancel(*gone);
  });
}

/// A failure in here ends only this call.
void Embeddings::take(Call& call, size_t input, EngineUpdate update) {
  serve::Progress& progress = update.progress;
  if (!call.reply->isOpen())
    return;
  if (!update.refusal.isOk())
    return fail(call, 400, update.refusal.message());
  if (progress.finished == serve::FinishReason::failed)
    return fail(call, 500, progress.error);
  if (!progress.finished)
    return;
  if (progress.embedding.empty())
    return fail(call, 500, "the engine has ended the request");
  call.cachedTokens += progress.course.cachedTokens;
  const auto width = int64_t(progress.embedding.size());
  if (call.dimensions && *call.dimensions != width)
    return fail(call, 400,
                "`dimensions` is " + std::to_string(*call.dimensions) +
                    ", and the model's embeddings have " +
                    std::to_string(width) + " numbers; leave it out");
  normalize(progress.embedding);
  call.vectors[input] = std::move(progress.embedding);
  if (--call.missing > 0)
    return;
  try {
    end(call);
  } catch (const std::exception& failure) { // memory is short
    logLine(LogLevel::error,
            "a request failed: " + std::string(failure.what()));
    fail(call, 500, "the server has failed");
  }
}

void Embeddings::cancel(const Call& call) {
  for (const Ticket ticket : call.tickets)
    engine.cancel(ticket, serve::FinishReason::cancelled);
}

void Embeddings::fail(Call& call, int status, const std::string& message) {
  call.reply->send(status, jsonType, errorBody(status, message));
  cancel(call);
}

void Embeddings::end(Call& call) {
  call.reply->notes().promptTokens = call.promptTokens;
  Json data = Json::array();
  for (size_t i = 0; i < call.vectors.size(); ++i)
    data.push_back({{"index", i},
                    {"object", "embedding"},
                    {"embedding", vectorJson(call.vectors[i], call.isBase64)}});
  const Json usage = {
      {"prompt_tokens", call.promptTokens},
      {"total_tokens", call.promptTokens},
      {"completion_tokens", 0},
      {"prompt_tokens_details", {{"cached_tokens", call.cachedTokens}}}};
  call.reply->send(200, jsonType,
                   jsonText({{"id", call.id},
                             {"object", "list"},
                             {"created", std::time(nullptr)},
                             {"model", call.model},
                             {"data", std::move(data)},
                             {"usage", usage}}));
}

} // namespace reciperun::server
