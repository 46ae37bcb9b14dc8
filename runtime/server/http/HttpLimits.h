// What an HTTP server takes from its clients.

#ifndef RECIPERUN_SERVER_HTTP_HTTPLIMITS_H
#define RECIPERUN_SERVER_HTTP_HTTPLIMITS_H

#include <cstddef>

namespace reciperun::server {

struct HttpLimits {
  /// A request with more is answered with 400.
  size_t headerBytes = size_t(64) << 10;
  /// A request with more is answered with 413.
  size_t bodyBytes = size_t(64) << 20;
  /// Of all requests that are being read or answered, together. If it is
  /// exceeded, the request that is being read gets a 503.
  size_t totalBytes = size_t(1) << 30;
  /// More connections get a 503 for their first request and are closed. Those
  /// beyond `surplusConnections` more are closed at once.
  size_t connections = 16384;
  static constexpr size_t surplusConnections = 64;
  /// A connection that transfers no byte for so long is closed, unless an
  /// answer is due.
  int idleSeconds = 60;
  /// Time for a whole request, from its first byte, and for a TLS handshake.
  /// A later request is answered with 408.
  int readSeconds = 60;
};

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_HTTP_HTTPLIMITS_H
