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
  /// The limits change; what is used stays counted.
  void setLimits(ClientLimits limits, Time now);

  /// Begins a request; end() must follow. Refuses it when too many are open, or
  /// when the tokens of the last minute are used up: a bucket holds the tokens
  /// of a minute, and takes those of a request when it ends, below zero if it
  /// must.
  std::optional<Refusal> begin(Time now);
  void end(int64_t tokens, Time now);

private:
  void refill(Time now);

  std::string named;
  ClientLimits most;
  int64_t open = 0;
  double tokens = 0; // that are left
  Time last;         // of a refill
};

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_ACCESS_APICLIENT_H
