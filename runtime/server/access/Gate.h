// The gate between the ports and the APIs. Each request passes it:
//
//   1. give it an id and its trace; 2. answer a browser's question whether a
//   page may call the server; 3. authenticate: API keys; 4. restricted APIs;
//   5. limits of clients and of the server; 6. the API answers; 7. count its
//   tokens and write the access log.
//
// guard() takes HTTP's requests through these steps. The server of gRPC, whose
// calls are requests of HTTP/2, calls 1, 3, 5 and 7 by itself.

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

/// A request on its way.
struct GateVisit {
  using Time = ApiClient::Time;

  AccessRecord record; // its protocol adds the outcome
  HttpHeaders answerHeaders;
  Time arrival;
  std::shared_ptr<ApiClient> client; // whose limits count it
  bool isCounted = false;            // among the open requests of inference

  double millisecondsUntil(Time then) const;
};

/// An answer that refuses a request.
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

  /// Passes the requests that `api` may answer to it. The gate must outlive the
  /// server of the handler. The header `x-request-id` of what it passes is
  /// always there and printable.
  HttpServer::Handler guard(HttpServer::Handler api);

  /// Begins a visit, with the request's id and trace. end() must follow.
  static GateVisit begin(const HttpRequest& request, GateVisit::Time arrival);
  /// Finds the client of a request by its key. Refuses a wrong one, and where
  /// the server takes keys, none.
  std::optional<GateDenial> authenticate(const HttpRequest& request,
                                         GateVisit& visit) const;
  /// Counts a request of inference until end(), unless the server or the client
  /// has too many, or the client has used up its tokens.
  std::optional<GateDenial> limit(GateVisit& visit);
  /// Takes the tokens of the record from the client's, and writes the record.
  void end(GateVisit& visit);

  /// Whether there are files to read again.
  bool canReload() const;
  /// Reads the file of keys again, and opens the access log again. After a
  /// failure it goes on with what it has.
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
