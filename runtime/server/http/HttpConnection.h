// A connection of an HTTP server, with the limits that libevent's evhttp lacks.
//
// evhttp limits the time between two bytes, the headers and the body. This
// class limits the time for a whole request and for the TLS handshake, bytes
// that do not belong to a body yet (the size line of a chunk may be endless),
// the requests of all connections together and the number of connections.
// evhttp does not read from a connection while an answer is due, so it would
// notice only at the next write that the client has gone; an event of the
// socket reports it at once.

#ifndef RECIPERUN_SERVER_HTTP_HTTPCONNECTION_H
#define RECIPERUN_SERVER_HTTP_HTTPCONNECTION_H

#include "runtime/server/http/HttpLimits.h"

#include <cstddef>
#include <memory>
#include <string>
#include <unordered_map>

struct bufferevent;
struct evbuffer;
struct evbuffer_cb_info;
struct event;
struct event_base;
struct evhttp_connection;

namespace reciperun::server {

class HttpConnections;
class HttpReply;
class TlsContext;

class HttpConnection {
public:
  /// `buffer` is new: evhttp has not created its connection yet. With `isLost`
  /// the connection is closed at once.
  HttpConnection(HttpConnections& all, bufferevent* buffer, bool isLost);
  HttpConnection(const HttpConnection&) = delete;
  HttpConnection& operator=(const HttpConnection&) = delete;
  ~HttpConnection();

  /// Called when a request is complete and `reply` is due. If the connection
  /// closes before endAnswer(), `reply` is told.
  void beginAnswer(HttpReply& reply);
  void endAnswer();
  /// Closes the connection; destroys this object.
  void close();

  /// Bytes of a stream that the client has not read.
  size_t unreadBytes() const;
  /// Whether there are more connections than allowed; its request is then
  /// refused.
  bool isSurplus() const { return surplus; }

private:
  /// Why the clock's event fires.
  enum class Alarm { accepted, late, tooLarge, tooManyBytes };

  static void onClock(int, short, void* self);
  static void onInput(evbuffer* input, const evbuffer_cb_info* change,
                      void* self);
  static void onClosed(evhttp_connection*, void* self);
  static void onHangUp(int socket, short what, void* self);
  void accept();
  void watch(short what);
  void startClock();
  void raise(Alarm alarm);
  void act();
  void refuse(int status);
  bool hasHandshake() const;

  HttpConnections& all;
  bufferevent* buffer;
  evhttp_connection* connection = nullptr; // once it is accepted
  HttpReply* reply = nullptr;              // that is due
  event* clock = nullptr;                  // of a request that is being read
  event* hangUp = nullptr;                 // while an answer is due
  size_t requestBytes = 0;                 // of the request
  Alarm alarm = Alarm::accepted;
  bool isReading = false;
  bool surplus = false;
  bool isLost = false;
};

/// The connections of a server.
class HttpConnections {
public:
  /// `tls` is null without TLS. The references must outlive the object.
  HttpConnections(event_base* base, HttpLimits limits, const TlsContext* tls)
      : base(base), limits(limits), tls(tls) {}

  /// The buffer of a connection that is about to be accepted; null when memory
  /// is short.
  bufferevent* open();
  /// The connection of a request; null when memory was short.
  HttpConnection* of(evhttp_connection* connection);

private:
  friend class HttpConnection;

  event_base* base;
  HttpLimits limits;
  const TlsContext* tls;
  size_t heldBytes = 0; // of all requests
  std::unordered_map<bufferevent*, std::unique_ptr<HttpConnection>> connections;
};

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_HTTP_HTTPCONNECTION_H
