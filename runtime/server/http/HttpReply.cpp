// See HttpReply.h. libevent frees a request when its answer is sent or its
// connection closes.

#include "runtime/server/http/HttpReply.h"

#include "runtime/server/http/HttpConnection.h"

#include <event2/buffer.h>
#include <event2/http.h>

#include <utility>

namespace reciperun::server {
namespace {

/// An evbuffer with a copy of bytes.
struct Bytes {
  explicit Bytes(std::string_view bytes) : buffer(evbuffer_new()) {
    if (buffer)
      evbuffer_add(buffer, bytes.data(), bytes.size());
  }
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;
  ~Bytes() {
    if (buffer)
      evbuffer_free(buffer);
  }
  evbuffer* buffer;
};

} // namespace

HttpReply::HttpReply(HttpConnection& connection, evhttp_request* request)
    : request(request), connection(&connection) {
  connection.beginAnswer(*this);
}

HttpReply::~HttpReply() {
  if (isOpen())
    send(500, "text/plain", "");
}

void HttpReply::end(bool isComplete) {
  if (!isOpen())
    return;
  request = nullptr;
  connection->endAnswer();
  const auto functions = std::exchange(ended, {});
  for (auto then = functions.rbegin(); then != functions.rend(); ++then)
    (*then)(isComplete);
}

void HttpReply::whenEnded(std::function<void(bool)> then) {
  ended.push_back(std::move(then));
}

void HttpReply::note(size_t bodyBytes) {
  bytes += bodyBytes;
  if (begun == Clock::time_point())
    begun = Clock::now();
}

void HttpReply::addHeader(const std::string& name, const std::string& value) {
  if (isOpen())
    evhttp_add_header(evhttp_request_get_output_headers(request), name.c_str(),
                      value.c_str());
}

void HttpReply::send(int status, const std::string& type,
                     std::string_view body) {
  if (!isOpen())
    return;
  addHeader("Content-Type", type);
  sent = status;
  note(body.size());
  evhttp_request* const answered = request;
  end(true); // libevent may free the request at once
  evhttp_send_reply(answered, status, nullptr, Bytes(body).buffer);
}

void HttpReply::beginStream(const std::string& type, int status) {
  if (!isOpen())
    return;
  addHeader("Content-Type", type);
  addHeader("Cache-Control", "no-cache");
  sent = status;
  evhttp_send_reply_start(request, sent, nullptr);
}

void HttpReply::write(std::string_view piece) {
  if (!isOpen() || piece.empty())
    return;
  if (connection->unreadBytes() > mostUnreadBytes)
    return connection->close();
  note(piece.size());
  evhttp_send_reply_chunk(request, Bytes(piece).buffer);
}

void HttpReply::endStream() {
  if (!isOpen())
    return;
  evhttp_request* const answered = request;
  end(true);
  evhttp_send_reply_end(answered);
}

} // namespace reciperun::server
