// A client that has API keys: its name and its limits.

#ifndef RECIPERUN_SERVER_ACCESS_APICLIENT_H
#define RECIPERUN_SERVER_ACCESS_APICLIENT_H

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace reciperun::server {

/// Limits of a client; 0: none.
struct ClientLimits {
  int64_t requests = 0;        // answered at once
  int64_t tokensPerMinute = 0; // of prompts and answers

  bool operator==(const ClientLimits&) const = default;
};

/// Why a request is refused, and how many seconds later the next attempt makes
/// sense.
struct Refusal {
  std::string message;
  int64_t retryAfter = 1;
};

/// Counts what a client uses. Belongs to the server's thread.
class ApiClient {
public:
  using Time = std::chrono::steady_clock::time_point;

  ApiClient(std::string name, ClientLimits limits);

  const std::string& name() const { return named; }
  const ClientLimits& limits() const { return most; }
  /// Changes the limits. What the client has used remains counted.
  void setLimits(ClientLimits limits, Time now);

  /// Begins a request; end() must follow. Refuses it when too many requests are
  /// open or the client's token bucket is empty. The bucket holds the tokens of
  /// a minute and is refilled over time. end() takes the tokens of a request
  /// out of it, which may leave it below zero.
  std::optional<Refusal> begin(Time now);
  void end(int64_t tokens, Time now);

private:
  void refill(Time now);

  std::string named;
  ClientLimits most;
  int64_t open = 0;
  double tokens = 0; // left in the bucket
  Time last;         // of the last refill
};

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_ACCESS_APICLIENT_H
