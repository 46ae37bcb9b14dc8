// libevent frees a request when its answer is sent or its connection closes.
// It does not read from a connection while an answer is due, so that it would
// notice only at the next write that the client has gone: an event of the
// socket (EV_CLOSED) tells at once.

#include "runtime/server/http/HttpReply.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
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

HttpReply::HttpReply(event_base* loop, evhttp_request* request)
    : request(request), connection(evhttp_request_get_connection(request)) {
  watch(loop);
}

HttpReply::~HttpReply() {
  if (isOpen())
    send(500, "text/plain", "");
}

void HttpReply::watch(event_base* loop) {
  evhttp_connection_set_closecb(connection, onClosed, this);
  const int socket =
      bufferevent_getfd(evhttp_connection_get_bufferevent(connection));
  hangUp = event_new(loop, socket, EV_CLOSED, onHangUp, this);
  if (hangUp)
    event_add(hangUp, nullptr);
}

void HttpReply::onClosed(evhttp_connection*, void* self) {
  static_cast<HttpReply*>(self)->end(false);
}

void HttpReply::onHangUp(int, short, void* self) {
  evhttp_connection_free(static_cast<HttpReply*>(self)->connection);
}

void HttpReply::end(bool isComplete) {
  if (!isOpen())
    return;
  request = nullptr;
  if (isComplete)
    evhttp_connection_set_closecb(connection, nullptr, nullptr);
  if (hangUp)
    event_free(std::exchange(hangUp, nullptr));
  if (auto then = std::exchange(ended, {}))
    then(isComplete);
}

void HttpReply::whenEnded(std::function<void(bool)> then) {
  ended = std::move(then);
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
  evbuffer* const unread =
      bufferevent_get_output(evhttp_connection_get_bufferevent(connection));
  if (evbuffer_get_length(unread) > mostUnreadBytes) {
    evhttp_connection_free(connection);
    return;
  }
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
