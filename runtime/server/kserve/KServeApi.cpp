// A request is answered in three steps: find the route, refuse a method that
// the route does not have, and call the route's function. Functions return the
// body of an answer, or the failure to answer with; those that answer later
// return whether they have begun.

#include "runtime/server/kserve/KServeApi.h"

#include "runtime/server/config/ModelConfig.h"
#include "runtime/server/kserve/AnswerJson.h"
#include "runtime/server/kserve/GenerateBody.h"
#include "runtime/server/kserve/GenerateExchange.h"
#include "runtime/server/kserve/InferExchange.h"
#include "runtime/server/kserve/ModelJson.h"
#include "runtime/server/kserve/RepositoryJson.h"
#include "runtime/server/kserve/SettingsJson.h"

#include <charconv>
#include <limits>
#include <utility>

namespace reciperun::server {
namespace {

constexpr const char* kserveJsonType = "application/json";
constexpr const char* jsonBytesHeader = "inference-header-content-length";

using SharedReply = std::shared_ptr<HttpReply>;

void sendEmpty(int status, const SharedReply& reply) {
  reply->send(status, kserveJsonType, "");
}

void sendError(int status, const char* message, const SharedReply& reply) {
  reply->send(status, kserveJsonType, errorJson(message));
}

void sendJson(const Expected<std::string>& body, const SharedReply& reply) {
  if (!body)
    return refuse(*reply, body.status());
  reply->send(200, kserveJsonType, *body);
}

/// Answers with the failure to begin a request, if there is one.
void refuseFailure(const Status& begun, const SharedReply& reply) {
  if (!begun.isOk())
    refuse(*reply, begun);
}

/// The version of a route; -1 if it has none.
Expected<int64_t> versionOf(const KServeRoute& route) {
  if (route.version.empty())
    return int64_t(-1);
  int64_t version = 0;
  const char* const end = route.version.data() + route.version.size();
  if (std::from_chars(route.version.data(), end, version).ec != std::errc())
    return Status::error(
        "failed to get model version from specified version string '" +
            route.version +
            "' (details: stol), version should be an integral value > 0",
        StatusCode::invalidArgument);
  return version;
}

/// The number of JSON bytes in a body of `size` bytes, from the request's
/// header; nullopt without that header.
Expected<std::optional<size_t>> jsonBytesOf(const HttpRequest& request,
                                            size_t size) {
  const auto header = request.headers.find(jsonBytesHeader);
  if (header == request.headers.end())
    return std::optional<size_t>();
  const std::string& text = header->second;
  const auto unparsable = [&](const std::string& why) {
    return Status::error("Unable to parse Inference-Header-Content-Length, " +
                             why + "got: " + text,
                         StatusCode::invalidArgument);
  };
  int32_t bytes = 0;
  const char* const end = text.data() + text.size();
  const auto [read, error] = std::from_chars(text.data(), end, bytes);
  if (error == std::errc::result_out_of_range)
    return unparsable(
        "value is out of range [ " +
        std::to_string(std::numeric_limits<int32_t>::min()) + ", " +
        std::to_string(std::numeric_limits<int32_t>::max()) + " ], ");
  if (error != std::errc() || read != end)
    return unparsable("");
  if (bytes < 0 || size_t(bytes) > size)
    return Status::error("inference header size should be in range (0, " +
                             std::to_string(size) + "), got: " + text,
                         StatusCode::invalidArgument);
  return std::optional<size_t>(bytes);
}

Status sharedMemoryDisabled() {
  return Status::error("Client shared memory is disabled. Start the server "
                       "with '--allow-client-shm=true' to enable.",
                       StatusCode::unsupported);
}

Status checkNoRepository(const KServeRoute& route) {
  return route.repository.empty()
             ? Status::ok()
             : Status::error("'repository_name' specification is not supported",
                             StatusCode::unsupported);
}

/// Answers a load or an unload when it is done.
std::function<void(Status)> answerWhenDone(const SharedReply& reply) {
  return [reply](const Status& done) {
    if (done.isOk())
      sendEmpty(200, reply);
    else
      refuse(*reply, done);
  };
}

} // namespace

bool KServeApi::takes(std::string_view path) {
  return path == "/v2" || path.starts_with("/v2/");
}

void KServeApi::answer(HttpRequest request, const Reply& reply) {
  auto route = kserveRouteOf(request.path);
  if (!route)
    return sendError(404, "Not Found", reply);
  if (!takesMethod(route->call, request.method))
    return sendError(405, "Method Not Allowed", reply);
  Call call = {*std::move(route), std::move(request)};
  dispatch(call, reply);
}

void KServeApi::dispatch(Call& call, const Reply& reply) {
  switch (call.route.call) {
  case KServeCall::live:
    return live(reply);
  case KServeCall::ready:
    return ready(reply);
  case KServeCall::serverMetadata:
    return sendJson(serverMetadataJson(settings.name, settings.version), reply);
  case KServeCall::modelReady:
    return modelReady(call, reply);
  case KServeCall::modelMetadata:
    return sendJson(modelMetadata(call), reply);
  case KServeCall::modelConfig:
    return sendJson(modelConfig(call), reply);
  case KServeCall::statistics:
    return sendJson(statistics(call), reply);
  case KServeCall::infer:
    return refuseFailure(infer(call, reply), reply);
  case KServeCall::generate:
  case KServeCall::generateStream:
    return refuseFailure(generate(call, reply), reply);
  case KServeCall::repositoryIndex:
    return sendJson(repositoryIndex(call), reply);
  case KServeCall::load:
    return refuseFailure(load(call, reply), reply);
  case KServeCall::unload:
    return refuseFailure(unload(call, reply), reply);
  case KServeCall::sharedMemoryStatus:
    return sendJson(sharedMemoryStatus(call), reply);
  case KServeCall::sharedMemoryRegister:
  case KServeCall::sharedMemoryUnregister:
    return refuse(*reply, sharedMemoryDisabled());
  case KServeCall::traceSetting:
    return sendJson(traceSetting(call), reply);
  case KServeCall::logging:
    return sendJson(logging(call), reply);
  }
}

// ---- health and metadata

void KServeApi::live(const Reply& reply) const {
  if (!models.isLive())
    return sendError(503, "Server exiting", reply);
  sendEmpty(200, reply);
}

void KServeApi::ready(const Reply& reply) const {
  if (!models.isLive())
    return sendError(503, "Server exiting", reply);
  sendEmpty(models.isReady() ? 200 : 400, reply);
}

void KServeApi::modelReady(const Call& call, const Reply& reply) const {
  const auto version = versionOf(call.route);
  if (!version)
    return refuse(*reply, version.status());
  const auto isReady = models.isModelReady(call.route.model, *version);
  if (!isReady)
    return refuse(*reply, isReady.status());
  if (!*isReady)
    return sendError(400, "Model version not ready", reply);
  sendEmpty(200, reply);
}

Expected<std::string> KServeApi::modelMetadata(const Call& call) const {
  const auto version = versionOf(call.route);
  RECIPERUN_TRY(version);
  const auto model = models.metadata(call.route.model, *version);
  RECIPERUN_TRY(model);
  return metadataJson(*model);
}

Expected<std::string> KServeApi::modelConfig(const Call& call) const {
  const auto version = versionOf(call.route);
  RECIPERUN_TRY(version);
  const auto config = models.config(call.route.model, *version);
  RECIPERUN_TRY(config);
  return jsonOfConfig(**config);
}

Expected<std::string> KServeApi::statistics(const Call& call) const {
  const auto version = versionOf(call.route);
  RECIPERUN_TRY(version);
  const auto all = models.statistics(call.route.model, *version);
  RECIPERUN_TRY(all);
  return statisticsJson(*all);
}

// ---- settings and the repository

Expected<std::string> KServeApi::sharedMemoryStatus(const Call& call) const {
  if (call.route.region.empty())
    return std::string("[]"); // there is no region
  const bool isCuda = call.request.path.starts_with("/v2/cuda");
  return Status::error("Unable to find " +
                           std::string(isCuda ? "cuda" : "system") +
                           " shared memory region: '" + call.route.region + "'",
                       StatusCode::notFound);
}

Expected<std::string> KServeApi::traceSetting(const Call& call) {
  const std::string& model = call.route.model;
  if (!model.empty()) {
    const auto isReady = models.isModelReady(model, -1);
    RECIPERUN_TRY(isReady);
    if (!*isReady)
      return Status::error("Request for unknown model : " + model,
                           StatusCode::invalidArgument);
  }
  if (call.request.method == "POST") {
    const auto changes =
        readTraceBody(call.request.body, settings.maxInputBytes);
    RECIPERUN_TRY(changes);
    RECIPERUN_TRY(store.traces.change(model, *changes));
  }
  return traceJson(store.traces.of(model));
}

Expected<std::string> KServeApi::logging(const Call& call) {
  if (call.request.method == "POST") {
    auto changed = readLogBody(store.log.settings(), call.request.body,
                               settings.maxInputBytes);
    RECIPERUN_TRY(changed);
    store.log.change(*std::move(changed));
  }
  return logJson(store.log.settings());
}

Expected<std::string> KServeApi::repositoryIndex(const Call& call) const {
  const auto readyOnly =
      readIndexBody(call.request.body, settings.maxInputBytes);
  RECIPERUN_TRY(readyOnly);
  return indexJson(models.index(*readyOnly));
}

Status KServeApi::load(const Call& call, const Reply& reply) {
  RECIPERUN_TRY(checkNoRepository(call.route));
  auto overrides = readLoadBody(call.request.body, settings.maxInputBytes);
  RECIPERUN_TRY(overrides);
  models.load(call.route.model, *std::move(overrides), answerWhenDone(reply));
  return Status::ok();
}

Status KServeApi::unload(const Call& call, const Reply& reply) {
  RECIPERUN_TRY(checkNoRepository(call.route));
  const auto dependents =
      readUnloadBody(call.request.body, settings.maxInputBytes);
  RECIPERUN_TRY(dependents);
  models.unload(call.route.model, *dependents, answerWhenDone(reply));
  return Status::ok();
}

// ---- inference

/// Replaces a compressed body by what it holds.
Status KServeApi::inflate(HttpRequest& request, const Reply& reply) const {
  const auto coding = contentCodingOf(request.header("content-encoding"));
  if (!coding)
    reply->addHeader("Accept-Encoding", "gzip, deflate");
  RECIPERUN_TRY(coding);
  if (*coding == ContentCoding::identity)
    return Status::ok();
  auto body = decompress(request.body, settings.maxInputBytes);
  RECIPERUN_TRY(body);
  request.body = *std::move(body);
  return Status::ok();
}

Status KServeApi::infer(Call& call, const Reply& reply) {
  const auto version = versionOf(call.route);
  RECIPERUN_TRY(version);
  const auto model = models.metadata(call.route.model, *version);
  RECIPERUN_TRY(model);
  if (model->isDecoupled)
    return Status::error("HTTP end point doesn't support models with decoupled "
                         "transaction policy",
                         StatusCode::unsupported);
  RECIPERUN_TRY(inflate(call.request, reply));
  const std::string& body = call.request.body;
  const auto jsonBytes = jsonBytesOf(call.request, body.size());
  RECIPERUN_TRY(jsonBytes);
  auto read = readInferBody(*model, body, *jsonBytes, settings.maxInputBytes);
  RECIPERUN_TRY(read);
  read->request.model = call.route.model;
  read->request.version = *version;
  runInfer(models, *std::move(read),
           acceptedCodingOf(call.request.header("accept-encoding")), reply);
  return Status::ok();
}

Status KServeApi::generate(const Call& call, const Reply& reply) {
  const auto version = versionOf(call.route);
  RECIPERUN_TRY(version);
  const auto model = models.metadata(call.route.model, *version);
  RECIPERUN_TRY(model);
  const std::string& coding = call.request.header("content-encoding");
  if (!coding.empty() && coding != "identity")
    return Status::error(
        "Unsupported content-encoding, only 'identity' is supported.",
        StatusCode::invalidArgument);
  auto request =
      readGenerateBody(*model, call.request.body, settings.maxInputBytes);
  RECIPERUN_TRY(request);
  request->model = call.route.model;
  request->version = *version;
  addLoadHeader(call, reply);
  runGenerate(models, *std::move(request),
              call.route.call == KServeCall::generateStream, reply);
  return Status::ok();
}

/// Adds the load of the model's engine where the client asks for it.
void KServeApi::addLoadHeader(const Call& call, const Reply& reply) const {
  const std::string& format =
      call.request.header("endpoint-load-metrics-format");
  if (format.empty() || !settings.loadOf)
    return;
  const auto load = settings.loadOf(call.route.model);
  const std::string header = load ? endpointLoadHeader(*load, format) : "";
  if (!header.empty())
    reply->addHeader("endpoint-load-metrics", header);
}

} // namespace reciperun::server
