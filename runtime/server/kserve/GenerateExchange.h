// Runs a request of the generate extension and answers it.

#ifndef RECIPERUN_SERVER_KSERVE_GENERATEEXCHANGE_H
#define RECIPERUN_SERVER_KSERVE_GENERATEEXCHANGE_H

#include "runtime/server/http/HttpServer.h"
#include "runtime/server/models/ModelServer.h"

#include <memory>

namespace reciperun::server {

/// Runs a request. If `streams`, answers with an event for each response,
/// otherwise with the only response. The status is that of the first response.
///
/// A failure that ModelServer::infer reports before it returns concerns the
/// request itself. It is answered as JSON, even if a stream was asked for.
void runGenerate(ModelServer& models, InferRequest request, bool streams,
                 const std::shared_ptr<HttpReply>& reply);

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_KSERVE_GENERATEEXCHANGE_H
