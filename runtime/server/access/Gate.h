// The gate between the ports and the APIs. Each request passes through these
// steps:
//
//   1. give it an id and a trace; 2. answer CORS preflight requests;
//   3. authenticate it by its API key; 4. check restricted APIs; 5. check the
//   limits of the client and of the server; 6. the API answers; 7. count its
//   tokens and write the access log.
//
// guard() does this for HTTP requests. The gRPC server, whose calls are HTTP/2
// requests, calls steps 1, 3, 5 and 7 itself.

#ifndef RECIPERUN_SERVER_ACCESS_GATE_H
#define RECIPERUN_SERVER_ACCESS_GATE_H

#include "runtime/server/access/AccessLog.h"
#include "runtime/server/access/ApiKeys.h"
#include "runtime/server/access/Origins.h"
#include "runtime/server/access/RestrictedApis.h"
#include "runtime/server/http/HttpServer.h"
#include "runtime/server/http/RequestRules.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace reciperun::server {

struct GateSettings {
  std::vector<std::string> apiKeys = {}; // plain
  std::string apiKeyFile = {};           // empty: none
  bool guardsMetrics = false; // /metrics and the page at / need a key too
  RestrictedApis restricted = {};
  Origins origins = {};       // of pages in browsers; none
  size_t mostRequests = 0;    // of inference, answered at once; 0: any number
  std::string accessLog = {}; // a path, `-` for stdout; empty: none
};

/// The state of a request on its way through the gate.
struct GateVisit {
  using Time = ApiClient::Time;

  AccessRecord record; // the API's protocol adds the outcome
  HttpHeaders answerHeaders;
  Time arrival;
  std::shared_ptr<ApiClient> client; // whose limits count it
  bool isCounted = false;            // among the open requests of inference

  double millisecondsUntil(Time then) const;
};

/// The answer with which the gate refuses a request.
struct GateDenial {
  int status = 0; // of HTTP: 401, 403, 429 or 503
  std::string message;
  int64_t retryAfter = 0; // seconds; 0: no header
};

/// Belongs to the server's thread.
class Gate {
public:
  /// Fails as ApiKeys::open and AccessLog::open do.
  static Expected<std::unique_ptr<Gate>> open(GateSettings settings);
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  /// Returns a handler that passes admitted requests on to `api`. The gate must
  /// outlive the server of the handler. Requests that reach `api` always have a
  /// header `x-request-id`, which is printable.
  HttpServer::Handler guard(HttpServer::Handler api);

  /// Begins a visit, with the request's id and trace. end() must follow.
  static GateVisit begin(const HttpRequest& request, GateVisit::Time arrival);
  /// Finds the client of a request by its key. Refuses a wrong key and, if the
  /// server has keys, a missing one.
  std::optional<GateDenial> authenticate(const HttpRequest& request,
                                         GateVisit& visit) const;
  /// Counts an inference request as open until end(). Refuses it if the server
  /// or the client has too many open requests, or the client has used up its
  /// tokens.
  std::optional<GateDenial> limit(GateVisit& visit);
  /// Subtracts the tokens of the request from the client's budget and writes
  /// the access log.
  void end(GateVisit& visit);

  /// Whether there are files to read again.
  bool canReload() const;
  /// Reads the file of keys again and reopens the access log. After a failure
  /// the previous keys or log stay in use.
  Status reload();

private:
  using Reply = std::shared_ptr<HttpReply>;

  explicit Gate(GateSettings settings) : settings(std::move(settings)) {}
  void answer(const HttpServer::Handler& api, HttpRequest request,
              const Reply& reply);
  bool isOpen(const std::string& path) const;
  std::optional<GateDenial> deny(const HttpRequest& request, GateVisit& visit);
  static void refuse(const GateDenial& denial, const std::string& path,
                     const Reply& reply);

  GateSettings settings;
  ApiKeys keys;
  AccessLog log;
  size_t openRequests = 0; // of inference
};

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_ACCESS_GATE_H
