// See GenerateExchange.h.

#include "runtime/server/kserve/GenerateExchange.h"

#include "runtime/server/kserve/AnswerJson.h"
#include "runtime/server/kserve/GenerateBody.h"
#include "runtime/server/kserve/InferExchange.h"

#include <string>
#include <utility>

namespace reciperun::server {
namespace {

constexpr const char* notOneResponse =
    "generate expects model to produce exactly 1 response, use generate stream "
    "for model that generates various number of responses";

/// Collects the responses of a request and answers the client.
class GenerateExchange {
public:
  GenerateExchange(bool streams, std::shared_ptr<HttpReply> reply)
      : streams(streams), reply(std::move(reply)) {}

  void take(const InferResponse& response);
  /// Called when ModelServer::infer has returned.
  void hasStarted() { isStarting = false; }

private:
  void stream(const std::string& body, bool isLast);
  void collect(std::string body, bool isLast);

  bool streams;
  std::shared_ptr<HttpReply> reply;
  bool isStarting = true;
  int status = 0;   // of the first response; 0 before
  int bodies = 0;   // responses with a body
  std::string body; // the first
};

void GenerateExchange::take(const InferResponse& response) {
  noteTokens(*reply, response.tokens);
  Expected<std::string> next = response.status.isOk()
                                   ? Expected<std::string>(std::string())
                                   : response.status;
  if (next && !response.isEmpty)
    next = generateAnswerOf(response);
  if (!next && isStarting && status == 0 && response.isLast)
    return refuse(*reply, next.status());
  const bool isFirst = status == 0;
  if (isFirst)
    status = httpStatusOf(next.status());
  if (isFirst && streams)
    reply->beginStream("text/event-stream; charset=utf-8", status);
  if (!next)
    next = errorJson(next.message());
  if (streams)
    stream(*next, response.isLast);
  else
    collect(*std::move(next), response.isLast);
}

void GenerateExchange::stream(const std::string& next, bool isLast) {
  if (!next.empty())
    reply->write("data: " + next + "\n\n");
  if (isLast)
    reply->endStream();
}

void GenerateExchange::collect(std::string next, bool isLast) {
  if (!next.empty() && bodies++ == 0)
    body = std::move(next);
  if (!isLast)
    return;
  reply->beginStream("application/json", status);
  reply->write(bodies == 1 ? body : errorJson(notOneResponse));
  reply->endStream();
}

} // namespace

void runGenerate(ModelServer& models, InferRequest request, bool streams,
                 const std::shared_ptr<HttpReply>& reply) {
  reply->notes().model = request.model;
  const auto exchange = std::make_shared<GenerateExchange>(streams, reply);
  const auto inference =
      models.infer(std::move(request), [exchange](InferResponse response) {
        exchange->take(response);
      });
  exchange->hasStarted();
  if (inference)
    cancelWithClient(*reply, inference);
}

} // namespace reciperun::server
