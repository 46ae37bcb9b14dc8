// The answer to one HTTP request, whole or as a stream.

#ifndef RECIPERUN_SERVER_HTTP_HTTPREPLY_H
#define RECIPERUN_SERVER_HTTP_HTTPREPLY_H

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

struct evhttp_request;

namespace reciperun::server {

class HttpConnection;

/// What an API knows of an answer, for the access log and the limits of
/// clients.
struct AnswerNotes {
  std::string model;
  int64_t promptTokens = 0, answerTokens = 0;
};

/// Belongs to the server's thread. After the client has closed the connection
/// all calls do nothing.
class HttpReply {
public:
  using Clock = std::chrono::steady_clock;

  /// The most bytes of a stream that may wait for the client to read them. If
  /// there are more, the client is too slow and its connection is closed.
  static constexpr size_t mostUnreadBytes = size_t(4) << 20;

  /// For HttpServer.
  HttpReply(HttpConnection& connection, evhttp_request* request);
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
  /// Bytes of the body so far.
  size_t bodyBytes() const { return bytes; }
  /// When the first byte was sent; a default value before.
  Clock::time_point firstByte() const { return begun; }
  AnswerNotes& notes() { return noted; }

  /// `then` runs once: when the answer is complete, or when the client closes
  /// the connection before (`isComplete` is false). If there are several, the
  /// last one runs first.
  void whenEnded(std::function<void(bool isComplete)> then);

  /// For HttpConnection.
  void connectionHasClosed() { end(false); }

private:
  void note(size_t bodyBytes);
  void end(bool isComplete);

  evhttp_request* request;    // null once the answer has ended
  HttpConnection* connection; // valid until then
  std::vector<std::function<void(bool)>> ended;
  int sent = 0;
  size_t bytes = 0;
  Clock::time_point begun;
  AnswerNotes noted;
};

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_HTTP_HTTPREPLY_H
