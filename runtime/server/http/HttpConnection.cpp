// See HttpConnection.h.
//
// evhttp asks for a buffer, then creates the connection, and has no callback
// for that. The constructor therefore activates an event, which runs before any
// event of the new socket. It finds the connection as the argument of the
// buffer's callbacks (accept()).

#include "runtime/server/http/HttpConnection.h"

#include "runtime/base/Log.h"
#include "runtime/server/http/ErrorBody.h"
#include "runtime/server/http/HttpReply.h"
#include "runtime/server/http/TlsContext.h"

#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <event2/event.h>
#include <event2/http.h>
#include <openssl/err.h>
#include <openssl/ssl.h>

#include <cerrno>
#include <exception>
#include <sys/socket.h>
#include <utility>

namespace reciperun::server {
namespace {

/// What evhttp may have read of a body beyond the largest chunk: a size line
/// and the beginning of what follows.
constexpr size_t slackBytes = size_t(64) << 10;

std::string addressOf(evhttp_connection* connection) {
  char* address = nullptr;
  ev_uint16_t port = 0;
  evhttp_connection_get_peer(connection, &address, &port);
  return address ? address : "";
}

/// An answer that bypasses evhttp, which has no complete request to answer.
std::string answerOf(int status) {
  const char* const phrase = status == 408   ? "Request Timeout"
                             : status == 413 ? "Request Entity Too Large"
                                             : "Service Unavailable";
  const std::string body = plainErrorBody(phrase);
  return "HTTP/1.1 " + std::to_string(status) + " " + phrase +
         "\r\nContent-Type: " + jsonType +
         "\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\nConnection: close\r\n\r\n" + body;
}

/// Whether the other side has reset or closed a connection.
bool isOver(int socket) {
  int error = 0;
  socklen_t size = sizeof error;
  if (getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) != 0 || error)
    return true;
  char byte = 0;
  const ssize_t got = recv(socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT);
  return got == 0 ||
         (got < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR);
}

} // namespace

// ---- HttpConnections

bufferevent* HttpConnections::open() {
  ssl_st* const session = tls ? tls->newConnection() : nullptr;
  bufferevent* buffer =
      session ? bufferevent_openssl_socket_new(base, -1, session,
                                               BUFFEREVENT_SSL_ACCEPTING,
                                               BEV_OPT_CLOSE_ON_FREE)
              : nullptr;
  const bool isLost = tls && !buffer; // it must not become one without TLS
  if (!buffer)
    buffer = bufferevent_socket_new(base, -1, BEV_OPT_CLOSE_ON_FREE);
  if (!buffer)
    return nullptr;       // evhttp makes another attempt and gives up
  if (session && !isLost) // clients may close without TLS's farewell
    bufferevent_openssl_set_allow_dirty_shutdown(buffer, 1);
  connections[buffer] = std::make_unique<HttpConnection>(*this, buffer, isLost);
  return buffer;
}

HttpConnection* HttpConnections::of(evhttp_connection* connection) {
  const auto found =
      connections.find(evhttp_connection_get_bufferevent(connection));
  return found == connections.end() ? nullptr : found->second.get();
}

// ---- HttpConnection

HttpConnection::HttpConnection(HttpConnections& all, bufferevent* buffer,
                               bool isLost)
    : all(all), buffer(buffer),
      surplus(all.connections.size() >= all.limits.connections),
      isLost(isLost ||
             all.connections.size() >=
                 all.limits.connections + HttpLimits::surplusConnections) {
  bufferevent_incref(buffer); // until accept()
  evbuffer_add_cb(bufferevent_get_input(buffer), onInput, this);
  clock = event_new(all.base, -1, 0, onClock, this);
  if (clock)
    event_active(clock, EV_TIMEOUT, 0);
}

HttpConnection::~HttpConnection() {
  all.heldBytes -= requestBytes;
  evbuffer_remove_cb(bufferevent_get_input(buffer), onInput, this);
  for (event* each : {clock, hangUp})
    if (each)
      event_free(each);
  if (!connection)
    bufferevent_decref(buffer);
}

void HttpConnection::accept() {
  void* owner = nullptr;
  bufferevent_getcb(buffer, nullptr, nullptr, nullptr, &owner);
  if (!owner) { // evhttp could not make it
    all.connections.erase(buffer);
    return;
  }
  connection = static_cast<evhttp_connection*>(owner);
  bufferevent_decref(buffer);
  evhttp_connection_set_closecb(connection, onClosed, this);
  alarm = Alarm::late;
  if (isLost)
    return refuse(503);
  if (all.tls || surplus)
    startClock();
}

void HttpConnection::onClosed(evhttp_connection*, void* self) {
  auto& me = *static_cast<HttpConnection*>(self);
  if (me.isReading && logs(LogLevel::debug))
    logLine(LogLevel::debug, "a request of " + addressOf(me.connection) +
                                 " was malformed, too large or incomplete");
  try {
    if (me.reply)
      std::exchange(me.reply, nullptr)->connectionHasClosed();
  } catch (const std::exception& failure) { // memory is short
    logLine(LogLevel::error, "the end of a connection was not noted: " +
                                 std::string(failure.what()));
  }
  me.all.connections.erase(me.buffer);
}

void HttpConnection::close() {
  evhttp_connection_free(connection);
}

size_t HttpConnection::unreadBytes() const {
  return evbuffer_get_length(bufferevent_get_output(buffer));
}

bool HttpConnection::hasHandshake() const {
  ssl_st* const session = bufferevent_openssl_get_ssl(buffer);
  return session && SSL_is_init_finished(session);
}

// ---- requests

/// Also runs when evhttp removes bytes, for example those of a pipelined
/// request.
void HttpConnection::onInput(evbuffer* input, const evbuffer_cb_info* change,
                             void* self) {
  auto& me = *static_cast<HttpConnection*>(self);
  me.requestBytes += change->n_added;
  me.all.heldBytes += change->n_added;
  if (me.reply)
    return;
  const size_t length = evbuffer_get_length(input);
  if (!me.isReading && length > 0) {
    me.isReading = true;
    me.startClock();
  }
  if (length > me.all.limits.bodyBytes + me.all.limits.headerBytes + slackBytes)
    return me.raise(Alarm::tooLarge);
  if (change->n_added > 0 && me.all.heldBytes > me.all.limits.totalBytes)
    me.raise(Alarm::tooManyBytes);
}

void HttpConnection::beginAnswer(HttpReply& given) {
  reply = &given;
  isReading = false;
  alarm = Alarm::late;
  if (clock)
    event_del(clock);
  watch(EV_READ | EV_CLOSED);
}

/// Watches for the end of the connection. libevent reports a reset connection
/// as readable, and one that was closed in order as closed.
void HttpConnection::watch(short what) {
  if (!hangUp)
    hangUp = event_new(all.base, -1, 0, onHangUp, this);
  if (!hangUp)
    return;
  constexpr timeval moment = {.tv_sec = 0, .tv_usec = 100'000};
  event_assign(hangUp, all.base, bufferevent_getfd(buffer), what, onHangUp,
               this);
  event_add(hangUp, what & EV_READ ? nullptr : &moment);
}

void HttpConnection::endAnswer() {
  reply = nullptr;
  all.heldBytes -= std::exchange(requestBytes, 0);
  if (hangUp)
    event_del(hangUp);
}

void HttpConnection::onHangUp(int socket, short what, void* self) {
  auto& me = *static_cast<HttpConnection*>(self);
  if ((what & EV_CLOSED) || isOver(socket))
    return me.close();
  me.watch(EV_CLOSED); // the next request has come: it stays readable
}

// ---- the clock

void HttpConnection::startClock() {
  const timeval time = {.tv_sec = all.limits.readSeconds, .tv_usec = 0};
  if (clock)
    event_add(clock, &time);
}

/// Acts only after evhttp has returned, because evhttp must not lose its
/// connection inside its own callback.
void HttpConnection::raise(Alarm given) {
  alarm = given;
  if (clock)
    event_active(clock, EV_TIMEOUT, 0);
}

void HttpConnection::onClock(int, short, void* self) {
  static_cast<HttpConnection*>(self)->act();
}

void HttpConnection::act() {
  switch (alarm) {
  case Alarm::accepted:
    return accept();
  case Alarm::late:
    if (surplus)
      return refuse(503);
    if (isReading || !hasHandshake())
      refuse(408);
    return;
  case Alarm::tooLarge:
    return refuse(413);
  case Alarm::tooManyBytes:
    return refuse(503);
  }
}

/// Sends an error answer, as far as the socket accepts it at once, and closes
/// the connection.
void HttpConnection::refuse(int status) {
  const std::string answer = answerOf(status);
  if (unreadBytes() > 0) {
    // evhttp is answering already
  } else if (!all.tls) {
    [[maybe_unused]] const ssize_t sent =
        send(bufferevent_getfd(buffer), answer.data(), answer.size(),
             MSG_DONTWAIT | MSG_NOSIGNAL);
  } else if (hasHandshake()) {
    SSL_write(bufferevent_openssl_get_ssl(buffer), answer.data(),
              int(answer.size()));
    ERR_clear_error();
  }
  close();
}

} // namespace reciperun::server
