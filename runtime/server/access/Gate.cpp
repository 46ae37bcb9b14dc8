// See Gate.h.

#include "runtime/server/access/Gate.h"

#include "runtime/server/access/TraceContext.h"
#include "runtime/server/http/ErrorBody.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <random>
#include <strings.h>
#include <utility>

namespace reciperun::server {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t longestRequestId = 128;
constexpr int clientHasGone = 499; // nginx's status, for logs

std::string randomId() {
  static std::mt19937_64 numbers{std::random_device()()};
  char text[40];
  std::snprintf(text, sizeof text, "%016llx%016llx",
                static_cast<unsigned long long>(numbers()),
                static_cast<unsigned long long>(numbers()));
  return text;
}

/// The client's id if it is printable and not too long, otherwise a new one.
std::string idOf(const HttpRequest& request) {
  const std::string& given = request.header("x-request-id");
  const bool isFit =
      !given.empty() && given.size() <= longestRequestId &&
      std::ranges::all_of(given, [](char c) { return c > ' ' && c < 0x7f; });
  return isFit ? given : randomId();
}

/// The key of a request: a bearer token (RFC 6750), or the header that
/// llama.cpp takes as well; empty without one.
std::string_view keyOf(const HttpRequest& request) {
  constexpr std::string_view scheme = "Bearer ";
  std::string_view given = request.header("authorization");
  if (given.size() <= scheme.size() ||
      strncasecmp(given.data(), scheme.data(), scheme.size()) != 0)
    return request.header("x-api-key");
  given.remove_prefix(scheme.size());
  given.remove_prefix(std::min(given.find_first_not_of(' '), given.size()));
  return given;
}

/// Records the outcome of a request for the access log.
void noteAnswer(HttpReply& reply, bool isComplete, GateVisit& visit) {
  AccessRecord& record = visit.record;
  record.status = reply.status() > 0 ? reply.status() : clientHasGone;
  record.isComplete = isComplete;
  record.bytesOut = reply.bodyBytes();
  if (reply.firstByte() != Clock::time_point())
    record.firstByte = visit.millisecondsUntil(reply.firstByte());
  const AnswerNotes& notes = reply.notes();
  record.model = notes.model;
  record.promptTokens = notes.promptTokens;
  record.answerTokens = notes.answerTokens;
}

} // namespace

double GateVisit::millisecondsUntil(Time then) const {
  return std::chrono::duration<double, std::milli>(then - arrival).count();
}

Expected<std::unique_ptr<Gate>> Gate::open(GateSettings settings) {
  std::unique_ptr<Gate> made(new Gate(std::move(settings)));
  auto keys = ApiKeys::open(made->settings.apiKeys, made->settings.apiKeyFile);
  RECIPERUN_TRY(keys);
  auto log = AccessLog::open(made->settings.accessLog);
  RECIPERUN_TRY(log);
  made->keys = *std::move(keys);
  made->log = *std::move(log);
  made->settings.apiKeys.clear(); // only their hashes stay
  return made;
}

bool Gate::canReload() const {
  return !settings.apiKeyFile.empty() || log.isFile();
}

Status Gate::reload() {
  const Status keysRead = keys.reload();
  const Status logOpened = log.reopen();
  return keysRead.isOk() ? logOpened : keysRead;
}

HttpServer::Handler Gate::guard(HttpServer::Handler api) {
  return [this, api = std::move(api)](HttpRequest request, Reply reply) {
    answer(api, std::move(request), reply);
  };
}

void Gate::answer(const HttpServer::Handler& api, HttpRequest request,
                  const Reply& reply) {
  const auto visit = std::make_shared<GateVisit>(begin(request, Clock::now()));
  request.headers["x-request-id"] = visit->record.id;
  for (const auto& [name, value] : visit->answerHeaders)
    reply->addHeader(name, value);
  reply->whenEnded([this, visit, answered = reply.get()](bool isComplete) {
    noteAnswer(*answered, isComplete, *visit);
    end(*visit);
  });
  if (settings.origins.answer(request, *reply))
    return;
  if (const auto denial = deny(request, *visit))
    return refuse(*denial, request.path, reply);
  api(std::move(request), reply);
}

GateVisit Gate::begin(const HttpRequest& request, GateVisit::Time arrival) {
  GateVisit visit;
  visit.arrival = arrival;
  AccessRecord& record = visit.record;
  record.id = idOf(request);
  visit.answerHeaders = {{"X-Request-Id", record.id}};
  if (const auto trace = traceOf(request.header("traceparent"),
                                 request.header("tracestate"))) {
    record.trace = trace->trace;
    record.parent = trace->parent;
    visit.answerHeaders.emplace_back("traceparent", trace->header);
    if (!trace->state.empty())
      visit.answerHeaders.emplace_back("tracestate", trace->state);
  }
  record.client = request.client;
  record.method = request.method;
  record.path = request.path;
  record.bytesIn = request.body.size();
  return visit;
}

/// Whether a path needs no key.
bool Gate::isOpen(const std::string& path) const {
  if (path == "/metrics" || path == "/")
    return !settings.guardsMetrics;
  return path == "/health" || path == "/ping" || path == "/version" ||
         path == "/v2/health/live" || path == "/v2/health/ready";
}

std::optional<GateDenial> Gate::authenticate(const HttpRequest& request,
                                             GateVisit& visit) const {
  if (!keys.areNeeded())
    return std::nullopt;
  const std::string_view key = keyOf(request);
  if (key.empty())
    return GateDenial{401, "the request has no API key; send it as "
                           "`authorization: Bearer KEY`"};
  visit.client = keys.find(key);
  if (!visit.client)
    return GateDenial{401, "the API key is not valid"};
  visit.record.key = visit.client->name();
  return std::nullopt;
}

/// Why a request is refused.
std::optional<GateDenial> Gate::deny(const HttpRequest& request,
                                     GateVisit& visit) {
  if (!isOpen(request.path))
    if (auto denial = authenticate(request, visit))
      return denial;
  const auto missing = settings.restricted.missingHeader(
      request.path, [&](const std::string& name) -> const std::string& {
        return request.header(name);
      });
  if (missing)
    return GateDenial{403, "This API is restricted, expecting header '" +
                               *missing + "'"};
  return apiOf(request.path) == Api::inference ? limit(visit) : std::nullopt;
}

std::optional<GateDenial> Gate::limit(GateVisit& visit) {
  if (settings.mostRequests > 0 && openRequests >= settings.mostRequests)
    return GateDenial{503,
                      "the server has " + std::to_string(openRequests) +
                          " requests in progress, of at most " +
                          std::to_string(settings.mostRequests),
                      1};
  if (visit.client)
    if (auto refusal = visit.client->begin(visit.arrival))
      return GateDenial{429, std::move(refusal->message), refusal->retryAfter};
  ++openRequests;
  visit.isCounted = true;
  return std::nullopt;
}

void Gate::refuse(const GateDenial& denial, const std::string& path,
                  const Reply& reply) {
  if (denial.status == 401)
    reply->addHeader("WWW-Authenticate", "Bearer");
  if (denial.retryAfter > 0)
    reply->addHeader("Retry-After", std::to_string(denial.retryAfter));
  reply->send(denial.status, jsonType,
              errorBodyFor(path, denial.status, denial.message));
}

void Gate::end(GateVisit& visit) {
  const auto now = Clock::now();
  AccessRecord& record = visit.record;
  if (visit.isCounted) {
    --openRequests;
    if (visit.client)
      visit.client->end(record.promptTokens + record.answerTokens, now);
  }
  record.milliseconds = visit.millisecondsUntil(now);
  log.write(record);
}

} // namespace reciperun::server
