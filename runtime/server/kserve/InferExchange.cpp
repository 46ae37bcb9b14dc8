// See InferExchange.h.

#include "runtime/server/kserve/InferExchange.h"

#include "runtime/server/kserve/AnswerJson.h"
#include "runtime/server/kserve/InferAnswer.h"

#include <optional>
#include <utility>

namespace reciperun::server {
namespace {

/// Collects the responses of a request and answers the client.
class InferExchange {
public:
  InferExchange(InferCall call, ContentCoding coding,
                std::shared_ptr<HttpReply> reply)
      : call(std::move(call)), coding(coding), reply(std::move(reply)) {}

  void take(InferResponse response);

private:
  Expected<InferAnswer> answer() const;
  void send(InferAnswer answer);

  InferCall call; // without its request
  ContentCoding coding;
  std::shared_ptr<HttpReply> reply;
  std::optional<InferResponse> response; // the first one
  int responses = 0;
};

void InferExchange::take(InferResponse next) {
  const bool isLast = next.isLast;
  noteTokens(*reply, next.tokens);
  if (!next.isEmpty && responses++ == 0)
    response = std::move(next);
  if (!isLast)
    return;
  auto made = answer();
  if (!made)
    return refuse(*reply, made.status());
  send(*std::move(made));
}

Expected<InferAnswer> InferExchange::answer() const {
  if (responses != 1)
    return Status::error("expected a single response, got " +
                         std::to_string(responses));
  RECIPERUN_TRY(response->status);
  return inferAnswerOf(*response, call);
}

void InferExchange::send(InferAnswer answer) {
  if (answer.isBinary())
    reply->addHeader("Inference-Header-Content-Length",
                     std::to_string(answer.jsonBytes));
  const char* const type =
      answer.isBinary() ? "application/octet-stream" : "application/json";
  if (coding != ContentCoding::identity)
    if (auto compressed = compress(answer.body, coding)) {
      reply->addHeader("Content-Encoding", nameOf(coding));
      answer.body = *std::move(compressed);
    }
  reply->send(200, type, answer.body);
}

} // namespace

void refuse(HttpReply& reply, const Status& failure) {
  reply.send(httpStatusOf(failure), "application/json",
             errorJson(failure.message()));
}

void noteTokens(HttpReply& reply, const TokenCounts& tokens) {
  reply.notes().promptTokens += tokens.prompt;
  reply.notes().answerTokens += tokens.answer;
}

void cancelWithClient(HttpReply& reply,
                      const std::shared_ptr<Inference>& inference) {
  reply.whenEnded([weak = std::weak_ptr(inference)](bool isComplete) {
    if (const auto running = weak.lock(); running && !isComplete)
      running->cancel();
  });
}

void runInfer(ModelServer& models, InferCall call, ContentCoding coding,
              const std::shared_ptr<HttpReply>& reply) {
  InferRequest request = std::move(call.request);
  reply->notes().model = request.model;
  const auto exchange =
      std::make_shared<InferExchange>(std::move(call), coding, reply);
  const auto inference =
      models.infer(std::move(request), [exchange](InferResponse response) {
        exchange->take(std::move(response));
      });
  if (inference)
    cancelWithClient(*reply, inference);
}

} // namespace reciperun::server
