// See ApiClient.h.

#include "runtime/server/access/ApiClient.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace reciperun::server {
namespace {

constexpr double secondsOfMinute = 60;

} // namespace

ApiClient::ApiClient(std::string name, ClientLimits limits)
    : named(std::move(name)), most(limits),
      tokens(double(limits.tokensPerMinute)) {}

void ApiClient::setLimits(ClientLimits limits, Time now) {
  refill(now);
  const int64_t more = limits.tokensPerMinute - most.tokensPerMinute;
  tokens += double(more);
  most = limits;
}

void ApiClient::refill(Time now) {
  const double seconds = std::chrono::duration<double>(now - last).count();
  const double limit = double(most.tokensPerMinute);
  tokens = std::min(limit, tokens + seconds * limit / secondsOfMinute);
  last = now;
}

std::optional<Refusal> ApiClient::begin(Time now) {
  if (most.requests > 0 && open >= most.requests)
    return Refusal{"this API key has " + std::to_string(open) +
                   " requests in progress, of at most " +
                   std::to_string(most.requests)};
  refill(now);
  if (most.tokensPerMinute > 0 && tokens <= 0) {
    const double rate = double(most.tokensPerMinute) / secondsOfMinute;
    return Refusal{"this API key has used its " +
                       std::to_string(most.tokensPerMinute) +
                       " tokens per minute",
                   int64_t(std::floor(-tokens / rate)) + 1};
  }
  ++open;
  return std::nullopt;
}

void ApiClient::end(int64_t used, Time now) {
  --open;
  refill(now);
  tokens -= double(used);
}

} // namespace reciperun::server
