// Answers /v1/embeddings with the engine behind a queue. An embedding is the
// hidden state of a text's last token after the model's last norm, divided by
// its Euclidean norm, as vLLM computes it for models that generate text.

#ifndef RECIPERUN_SERVER_OPENAI_EMBEDDINGS_H
#define RECIPERUN_SERVER_OPENAI_EMBEDDINGS_H

#include "runtime/server/front/ApiModel.h"
#include "runtime/server/front/EngineClient.h"
#include "runtime/server/http/HttpReply.h"
#include "runtime/server/openai/EmbeddingRequest.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace reciperun::server {

/// Divides a vector by its Euclidean norm. A zero vector stays unchanged.
void normalize(std::vector<float>& vector);

/// The bytes of the numbers, the lowest first, in base64 (RFC 4648 section 4).
std::string base64Of(const std::vector<float>& vector);

/// Belongs to the server's thread.
class Embeddings {
public:
  /// The references must outlive the object. Calls are refused with 503 while
  /// `mostAnswers` requests of the engine are open.
  Embeddings(const ApiModel& served, EngineClient& engine, size_t mostAnswers)
      : served(served), engine(engine), mostAnswers(mostAnswers) {}

  /// Answers a request, now if it is refused, or when the engine has computed
  /// it. `id` is the request's, without a prefix.
  void answer(EmbeddingRequest request, const std::string& id,
              const std::shared_ptr<HttpReply>& reply);

private:
  struct Call {
    std::string id, model;
    bool isBase64 = false;
    std::optional<int64_t> dimensions;
    std::shared_ptr<HttpReply> reply;
    int64_t promptTokens = 0, cachedTokens = 0;
    std::vector<Ticket> tickets; // by input
    std::vector<std::vector<float>> vectors;
    size_t missing = 0;
  };

  Expected<std::vector<serve::Request>>
  requestsOf(const EmbeddingRequest& request, Call& call) const;
  void start(const std::shared_ptr<Call>& call,
             std::vector<serve::Request> requests);
  void take(Call& call, size_t input, EngineUpdate update);
  void fail(Call& call, int status, const std::string& message);
  void end(Call& call);
  void cancel(const Call& call);

  const ApiModel& served;
  EngineClient& engine;
  size_t mostAnswers;
};

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_OPENAI_EMBEDDINGS_H
