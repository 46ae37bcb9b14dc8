// An HTTP/1.1 server on one thread, by libevent.
//
// The thread that calls run() accepts connections, reads requests and passes
// each to the handler, which answers it then or later (HttpReply.h). Other
// threads reach it by post().

#ifndef RECIPERUN_SERVER_HTTP_HTTPSERVER_H
#define RECIPERUN_SERVER_HTTP_HTTPSERVER_H

#include "runtime/base/Status.h"
#include "runtime/server/http/HttpReply.h"

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

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

  /// Listens from now on. Fails when the address is in use or none of this
  /// machine.
  static Expected<std::unique_ptr<HttpServer>>
  listen(const HttpAddress& address, const HttpLimits& limits, Handler handler);

  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;
  ~HttpServer();

  /// The port that it listens at.
  int port() const { return boundPort; }

  /// Serves until stop() is called.
  void run();
  /// Ends run() after the answers that are complete have been sent. May be
  /// called by any thread.
  void stop();
  /// Runs `work` on the server's thread. May be called by any thread.
  void post(std::function<void()> work);

private:
  explicit HttpServer(Handler handler) : handler(std::move(handler)) {}
  Status open(const HttpAddress& address, const HttpLimits& limits);
  static void onRequest(evhttp_request* request, void* self);
  static void onWake(int descriptor, short what, void* self);
  void take(evhttp_request* request);
  void runPosted();
  void wake() const;

  Handler handler;
  event_base* loop = nullptr;
  evhttp* http = nullptr;
  event* woken = nullptr;
  int wakeDescriptor = -1;
  int boundPort = 0;
  std::mutex mutex;
  std::vector<std::function<void()>> posted;
};

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_HTTP_HTTPSERVER_H
