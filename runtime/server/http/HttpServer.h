// An HTTP/1.1 server on the thread of an event loop, by libevent.
//
// It accepts connections, reads requests and passes each to the handler, which
// answers it then or later (HttpReply.h).

#ifndef RECIPERUN_SERVER_HTTP_HTTPSERVER_H
#define RECIPERUN_SERVER_HTTP_HTTPSERVER_H

#include "runtime/base/Status.h"
#include "runtime/server/http/EventLoop.h"
#include "runtime/server/http/HttpConnection.h"
#include "runtime/server/http/HttpLimits.h"
#include "runtime/server/http/HttpReply.h"
#include "runtime/server/http/TlsContext.h"

#include <functional>
#include <map>
#include <memory>
#include <string>

struct evhttp;
struct evhttp_request;

namespace reciperun::server {

struct HttpRequest {
  std::string method;                         // `GET`
  std::string path;                           // decoded, without the query
  std::map<std::string, std::string> headers; // by name in lower case
  std::string body;
  std::string client; // its address

  /// The value of a header, by its name in lower case; empty if it is absent.
  /// Several headers of the same name are joined with commas (RFC 9110 section
  /// 5.3).
  const std::string& header(const std::string& name) const;
};

struct HttpAddress {
  std::string host = "127.0.0.1";
  int port = 8000; // 0: any that is free
};

class HttpServer {
public:
  /// Must not throw, other than std::exception: the client then gets a 500.
  using Handler = std::function<void(HttpRequest, std::shared_ptr<HttpReply>)>;

  /// Starts to listen. Requests are answered while `loop` runs, which must
  /// outlive the server. With `tls`, which must outlive it too, connections use
  /// TLS. Fails when the address is in use or does not belong to this machine.
  static Expected<std::unique_ptr<HttpServer>>
  listen(EventLoop& loop, const HttpAddress& address, const HttpLimits& limits,
         Handler handler, const TlsContext* tls = nullptr);

  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  ~HttpServer();

  /// The port that it listens at.
  int port() const { return boundPort; }

private:
  HttpServer(EventLoop& loop, const HttpLimits& limits, Handler handler,
             const TlsContext* tls)
      : loop(loop), connections(loop.base(), limits, tls),
        handler(std::move(handler)) {}
  Status open(const HttpAddress& address, const HttpLimits& limits);
  static bufferevent* onConnection(event_base* base, void* self);
  static void onRequest(evhttp_request* request, void* self);
  void take(evhttp_request* request);
  void serve(evhttp_request* request, HttpConnection& connection,
             const std::shared_ptr<HttpReply>& reply);

  EventLoop& loop;
  HttpConnections connections;
  Handler handler;
  evhttp* http = nullptr;
  int boundPort = 0;
};

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_HTTP_HTTPSERVER_H
