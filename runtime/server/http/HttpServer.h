// An HTTP/1.1 server on the thread of an event loop, by libevent.
//
// It accepts connections, reads requests and passes each to the handler, which
// answers it then or later (HttpReply.h).

#ifndef RECIPERUN_SERVER_HTTP_HTTPSERVER_H
#define RECIPERUN_SERVER_HTTP_HTTPSERVER_H

#include "runtime/base/Status.h"
#include "runtime/server/http/EventLoop.h"
#include "runtime/server/http/HttpReply.h"

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <string>

struct evhttp;

namespace reciperun::server {

struct HttpRequest {
  std::string method;                         // `GET`
  std::string path;                           // decoded, without the query
  std::map<std::string, std::string> headers; // by name in lower case
  std::string body;

  /// The value of a header, by its name in lower case; empty without it.
  const std::string& header(const std::string& name) const;
};

struct HttpAddress {
  std::string host = "127.0.0.1";
  int port = 8000; // 0: any that is free
};

/// Limits on what a client sends. A larger request is answered with 413 or 400.
struct HttpLimits {
  size_t headerBytes = size_t(64) << 10;
  size_t bodyBytes = size_t(64) << 20;
  /// A connection that neither sends nor takes a byte for so long is closed,
  /// except where an answer is due.
  int idleSeconds = 60;
};

class HttpServer {
public:
  /// Must not throw, other than std::exception: the client then gets a 500.
  using Handler = std::function<void(HttpRequest, std::shared_ptr<HttpReply>)>;

  /// Listens from now on, and answers while `loop`, which must outlive the
  /// server, runs. Fails when the address is in use or none of this machine.
  static Expected<std::unique_ptr<HttpServer>>
  listen(EventLoop& loop, const HttpAddress& address, const HttpLimits& limits,
         Handler handler);

  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  ~HttpServer();

  /// The port that it listens at.
  int port() const { return boundPort; }

private:
  HttpServer(EventLoop& loop, Handler handler)
      : loop(loop), handler(std::move(handler)) {}
  Status open(const HttpAddress& address, const HttpLimits& limits);
  static void onRequest(evhttp_request* request, void* self);
  void take(evhttp_request* request);

  EventLoop& loop;
  Handler handler;
  evhttp* http = nullptr;
  int boundPort = 0;
};

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_HTTP_HTTPSERVER_H
