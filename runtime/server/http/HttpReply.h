// The answer to one HTTP request, whole or as a stream.

#ifndef RECIPERUN_SERVER_HTTP_HTTPREPLY_H
#define RECIPERUN_SERVER_HTTP_HTTPREPLY_H

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

struct event;
struct event_base;
struct evhttp_connection;
struct evhttp_request;

namespace reciperun::server {

/// Belongs to the server's thread. After the client has closed the connection
/// all calls do nothing.
class HttpReply {
public:
  /// A stream of which the client has not read more bytes than this is too
  /// slow: its connection is closed.
  static constexpr size_t mostUnreadBytes = size_t(4) << 20;

  /// For HttpServer.
  HttpReply(event_base* loop, evhttp_request* request);
  HttpReply(const HttpReply&) = delete;
  HttpReply& operator=(const HttpReply&) = delete;
  ~HttpReply();

  /// Adds a header. Must precede send() and beginStream().
  void addHeader(const std::string& name, const std::string& value);
  /// Answers with a whole body.
  void send(int status, const std::string& type, std::string_view body);

  /// Answers with a body of unknown length, which write() sends piece by piece,
  /// and endStream() completes.
  void beginStream(const std::string& type, int status = 200);
  void write(std::string_view piece);
  void endStream();

  /// Whether an answer is still due, or being sent, to a client that is there.
  bool isOpen() const { return request != nullptr; }
  /// The status that was sent; 0 before.
  int status() const { return sent; }
  /// `then` runs once: when the answer is complete, or when the client closes
  /// the connection before (`isComplete` is false).
  void whenEnded(std::function<void(bool isComplete)> then);

private:
  static void onClosed(evhttp_connection* connection, void* self);
  static void onHangUp(int socket, short what, void* self);
  void watch(event_base* loop);
  void end(bool isComplete);

  evhttp_request* request; // null once the answer has ended
  evhttp_connection* connection;
  event* hangUp = nullptr; // the client closes its side
  std::function<void(bool)> ended;
  int sent = 0;
};

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_HTTP_HTTPREPLY_H
