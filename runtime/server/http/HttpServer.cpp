// See HttpServer.h.

#include "runtime/server/http/HttpServer.h"

#include "runtime/base/Log.h"
#include "runtime/server/http/ErrorBody.h"
#include "runtime/server/http/RequestRules.h"

#include <event2/buffer.h>
#include <event2/http.h>
#include <event2/http_struct.h>
#include <event2/keyvalq_struct.h>

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <utility>

namespace reciperun::server {
namespace {

constexpr ev_uint16_t allowedMethods =
    EVHTTP_REQ_GET | EVHTTP_REQ_POST | EVHTTP_REQ_HEAD | EVHTTP_REQ_PUT |
    EVHTTP_REQ_DELETE | EVHTTP_REQ_OPTIONS | EVHTTP_REQ_PATCH;

const char* nameOf(evhttp_cmd_type method) {
  switch (method) {
  case EVHTTP_REQ_GET:
    return "GET";
  case EVHTTP_REQ_POST:
    return "POST";
  case EVHTTP_REQ_HEAD:
    return "HEAD";
  case EVHTTP_REQ_PUT:
    return "PUT";
  case EVHTTP_REQ_DELETE:
    return "DELETE";
  case EVHTTP_REQ_OPTIONS:
    return "OPTIONS";
  case EVHTTP_REQ_PATCH:
    return "PATCH";
  case EVHTTP_REQ_TRACE:
    return "TRACE";
  case EVHTTP_REQ_CONNECT:
    return "CONNECT";
  }
  return "";
}

std::string inLowerCase(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(), [](unsigned char c) {
    return c >= 'A' && c <= 'Z' ? char(c + 'a' - 'A') : char(c);
  });
  return text;
}

std::string decodedPath(const evhttp_uri* uri) {
  const char* const path = uri ? evhttp_uri_get_path(uri) : nullptr;
  if (!path)
    return "/";
  size_t size = 0;
  char* const decoded = evhttp_uridecode(path, /*decode_plus=*/0, &size);
  if (!decoded)
    return path;
  std::string made(decoded, size);
  std::free(decoded);
  return made;
}

HttpHeaders headersOf(evhttp_request* request) {
  HttpHeaders made;
  for (const evkeyval* each =
           evhttp_request_get_input_headers(request)->tqh_first;
       each; each = each->next.tqe_next)
    made.emplace_back(each->key, each->value);
  return made;
}

std::string addressOfClient(evhttp_request* request) {
  char* address = nullptr;
  ev_uint16_t port = 0;
  evhttp_connection_get_peer(evhttp_request_get_connection(request), &address,
                             &port);
  return address ? address : "";
}

HttpRequest requestOf(evhttp_request* request, const HttpHeaders& headers) {
  HttpRequest made;
  made.method = nameOf(evhttp_request_get_command(request));
  made.path = decodedPath(evhttp_request_get_evhttp_uri(request));
  for (const auto& [name, value] : headers) {
    std::string& all = made.headers[inLowerCase(name)];
    all += all.empty() ? value : ", " + value;
  }
  evbuffer* const body = evhttp_request_get_input_buffer(request);
  made.body.resize(evbuffer_get_length(body));
  evbuffer_remove(body, made.body.data(), made.body.size());
  made.client = addressOfClient(request);
  return made;
}

/// The minor number of the version, of HTTP/1.
int minorOf(const evhttp_request* request) {
  return request->major == 1 ? request->minor : 1;
}

int portOf(int socket) {
  sockaddr_storage address = {};
  socklen_t size = sizeof address;
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0)
    return 0;
  return ntohs(address.ss_family == AF_INET6
                   ? reinterpret_cast<sockaddr_in6&>(address).sin6_port
                   : reinterpret_cast<sockaddr_in&>(address).sin_port);
}

/// Accepted sockets have these settings too. Streams send small pieces at once,
/// and a client that has vanished without a word is noticed.
void setUp(int socket, const HttpLimits& limits) {
  const int on = 1, seconds = limits.idleSeconds;
  const unsigned milliseconds = unsigned(seconds) * 1000;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &seconds, sizeof seconds);
  setsockopt(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, &milliseconds,
             sizeof milliseconds);
}

} // namespace

const std::string& HttpRequest::header(const std::string& name) const {
  static const std::string none;
  const auto found = headers.find(name);
  return found == headers.end() ? none : found->second;
}

Expected<std::unique_ptr<HttpServer>>
HttpServer::listen(EventLoop& loop, const HttpAddress& address,
                   const HttpLimits& limits, Handler handler,
                   const TlsContext* tls) {
  std::unique_ptr<HttpServer> made(
      new HttpServer(loop, limits, std::move(handler), tls));
  RECIPERUN_TRY(made->open(address, limits));
  return made;
}

Status HttpServer::open(const HttpAddress& address, const HttpLimits& limits) {
  http = evhttp_new(loop.base());
  if (!http)
    return Status::error("cannot open an HTTP server: " +
                         std::string(std::strerror(errno)));
  evhttp_set_allowed_methods(http, allowedMethods);
  evhttp_set_max_headers_size(http, ev_ssize_t(limits.headerBytes));
  evhttp_set_max_body_size(http, ev_ssize_t(limits.bodyBytes));
  evhttp_set_timeout(http, limits.idleSeconds);
  evhttp_set_bevcb(http, onConnection, this);
  evhttp_set_gencb(http, onRequest, this);
  evhttp_bound_socket* const bound = evhttp_bind_socket_with_handle(
      http, address.host.c_str(), ev_uint16_t(address.port));
  if (!bound)
    return Status::error("cannot listen at " + address.host + ":" +
                         std::to_string(address.port) + ": " +
                         std::strerror(errno));
  const int socket = evhttp_bound_socket_get_fd(bound);
  setUp(socket, limits);
  boundPort = portOf(socket);
  return Status::ok();
}

HttpServer::~HttpServer() {
  if (http)
    evhttp_free(http);
}

bufferevent* HttpServer::onConnection(event_base*, void* self) {
  try {
    return static_cast<HttpServer*>(self)->connections.open();
  } catch (const std::exception&) { // memory is short
    return nullptr;
  }
}

void HttpServer::onRequest(evhttp_request* request, void* self) {
  static_cast<HttpServer*>(self)->take(request);
}

void HttpServer::take(evhttp_request* request) {
  std::shared_ptr<HttpReply> reply;
  try {
    HttpConnection* const connection =
        connections.of(evhttp_request_get_connection(request));
    if (!connection) // memory was short
      return evhttp_connection_free(evhttp_request_get_connection(request));
    reply = std::make_shared<HttpReply>(*connection, request);
    serve(request, *connection, reply);
  } catch (const std::exception& failure) { // memory is short
    logLine(LogLevel::error,
            "a request failed: " + std::string(failure.what()));
    if (reply)
      reply->send(500, "text/plain", "");
    else
      evhttp_send_error(request, 500, nullptr);
  }
}

void HttpServer::serve(evhttp_request* request, HttpConnection& connection,
                       const std::shared_ptr<HttpReply>& reply) {
  const HttpHeaders headers = headersOf(request);
  HttpRequest made = requestOf(request, headers);
  const auto refuse = [&](int status, const std::string& message) {
    reply->addHeader("Connection", "close");
    reply->send(status, jsonType, errorBodyFor(made.path, status, message));
  };
  if (connection.isSurplus()) {
    reply->addHeader("Retry-After", "1");
    return refuse(503, "the server has too many connections");
  }
  if (const std::string fault = faultOf(headers, minorOf(request));
      !fault.empty())
    return refuse(400, fault);
  if (hasUnreadBody(made.method, headers))
    reply->addHeader("Connection", "close");
  handler(std::move(made), reply);
}

} // namespace reciperun::server
