// The gate between the ports and the APIs. Each request passes it:
//
//   1. give it an id and its trace; 2. answer a browser's question whether a
//   page may call the server; 3. authenticate: API keys; 4. restricted APIs;
//   5. limits of clients and of the server; 6. the API answers; 7. count its
//   tokens and write the access log.

#ifndef RECIPERUN_SERVER_ACCESS_GATE_H
#define RECIPERUN_SERVER_ACCESS_GATE_H

#include "runtime/server/access/AccessLog.h"
#include "runtime/server/access/ApiKeys.h"
#include "runtime/server/access/Origins.h"
#include "runtime/server/access/RestrictedApis.h"
#include "runtime/server/http/HttpServer.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace reciperun::server {

struct GateSettings {
  std::vector<std::string> apiKeys; // plain
  std::string apiKeyFile;           // empty: none
  bool guardsMetrics = false;       // /metrics and the page at / need a key too
  RestrictedApis restricted;
  Origins origins;         // of pages in browsers; none
  size_t mostRequests = 0; // of inference, answered at once; 0: any number
  std::string accessLog;   // a path, `-` for stdout; empty: none
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

  /// Whether requests need an API key, and whether a key is one.
  bool needsKeys() const { return keys.areNeeded(); }
  bool knows(std::string_view key) const { return keys.find(key) != nullptr; }

  /// Whether there are files to read again.
  bool canReload() const;
  /// Reads the file of keys again, and opens the access log again. After a
  /// failure it goes on with what it has.
  Status reload();

private:
  using Reply = std::shared_ptr<HttpReply>;
  struct Visit;
  struct Denial;

  explicit Gate(GateSettings settings) : settings(std::move(settings)) {}
  void answer(const HttpServer::Handler& api, HttpRequest request,
              const Reply& reply);
  std::shared_ptr<Visit> begin(HttpRequest& request, const Reply& reply);
  bool isOpen(const std::string& path) const;
  std::unique_ptr<Denial> deny(const HttpRequest& request, Visit& visit);
  std::unique_ptr<Denial> limit(Visit& visit);
  static void refuse(const Denial& denial, const std::string& path,
                     const Reply& reply);
  void end(Visit& visit, HttpReply& reply, bool isComplete);

  GateSettings settings;
  ApiKeys keys;
  AccessLog log;
  size_t openRequests = 0; // of inference
};

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_ACCESS_GATE_H
