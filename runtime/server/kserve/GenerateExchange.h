// A request of the generate extension from its body to its answer.

#ifndef RECIPERUN_SERVER_KSERVE_GENERATEEXCHANGE_H
#define RECIPERUN_SERVER_KSERVE_GENERATEEXCHANGE_H

#include "runtime/server/http/HttpServer.h"
#include "runtime/server/models/ModelServer.h"

#include <memory>

namespace reciperun::server {

/// Runs a request. Answers with each response as an event where `streams`,
/// otherwise with the only response. The status is that of the first response.
///
/// A failure that ModelServer::infer reports before it returns is one of the
/// request: it is answered as JSON, also where a stream was asked for.
void runGenerate(ModelServer& models, InferRequest request, bool streams,
                 const std::shared_ptr<HttpReply>& reply);

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_KSERVE_GENERATEEXCHANGE_H
