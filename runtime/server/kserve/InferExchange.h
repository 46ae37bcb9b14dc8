// Runs an infer request and answers it.

#ifndef RECIPERUN_SERVER_KSERVE_INFEREXCHANGE_H
#define RECIPERUN_SERVER_KSERVE_INFEREXCHANGE_H

#include "runtime/server/http/HttpServer.h"
#include "runtime/server/kserve/Compression.h"
#include "runtime/server/kserve/InferBody.h"

#include <memory>

namespace reciperun::server {

/// Answers with a failure.
void refuse(HttpReply& reply, const Status& failure);

/// Records the tokens of a response, for the access log and the client's
/// limits.
void noteTokens(HttpReply& reply, const TokenCounts& tokens);

/// Cancels a request when its client goes away before the answer is complete.
void cancelWithClient(HttpReply& reply,
                      const std::shared_ptr<Inference>& inference);

/// Runs a request and answers with its response, encoded by `coding` if
/// possible.
void runInfer(ModelServer& models, InferCall call, ContentCoding coding,
              const std::shared_ptr<HttpReply>& reply);

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_KSERVE_INFEREXCHANGE_H
