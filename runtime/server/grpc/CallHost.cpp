// See CallHost.h.

#include "runtime/server/grpc/CallHost.h"

#include "runtime/server/grpc/GrpcStatus.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace reciperun::server {
namespace {

constexpr const char* restrictionPrefix = "triton-grpc-protocol-";

/// The value of a header; empty where there is none.
std::string_view headerOf(const grpc::CallbackServerContext& context,
                          const std::string& name) {
  const auto& headers = context.client_metadata();
  const auto found = headers.find(name);
  return found == headers.end()
             ? std::string_view()
             : std::string_view(found->second.data(), found->second.size());
}

std::string_view keyOf(const grpc::CallbackServerContext& context) {
  constexpr std::string_view scheme = "Bearer ";
  const std::string_view given = headerOf(context, "authorization");
  return given.starts_with(scheme) ? given.substr(scheme.size())
                                   : headerOf(context, "x-api-key");
}

/// Compares in a time that depends on the length of `given` alone.
bool isSameSecret(std::string_view given, std::string_view secret) {
  unsigned differences = given.size() != secret.size();
  for (size_t i = 0; i < given.size(); ++i)
    differences |= unsigned(given[i] ^ (i < secret.size() ? secret[i] : 0));
  return differences == 0;
}

/// Headers have names in lower case.
std::string lowered(std::string text) {
  std::ranges::transform(text, text.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c;
  });
  return text;
}

Status stopping() {
  return Status::error("GRPC server is shutting down and has stopped "
                       "accepting new requests.",
                       StatusCode::unavailable);
}

} // namespace

grpc::Status shuttingDown() {
  return grpcStatusOf(stopping());
}

grpc::Status CallHost::admit(const grpc::CallbackServerContext& context,
                             const CallRule& rule) const {
  if (grpc::Status key = checkKey(context); rule.needsKey && !key.ok())
    return key;
  return checkRestriction(context, rule.api);
}

grpc::Status
CallHost::checkKey(const grpc::CallbackServerContext& context) const {
  using grpc::StatusCode;
  if (!settings.isValidKey)
    return grpc::Status::OK;
  const std::string_view key = keyOf(context);
  if (key.empty())
    return {StatusCode::UNAUTHENTICATED,
            "the call has no API key; send it as `authorization: Bearer KEY`"};
  if (!settings.isValidKey(key))
    return {StatusCode::UNAUTHENTICATED, "the API key is not valid"};
  return grpc::Status::OK;
}

grpc::Status
CallHost::checkRestriction(const grpc::CallbackServerContext& context,
                           const char* api) const {
  const auto found = settings.restricted.find(api);
  if (found == settings.restricted.end())
    return grpc::Status::OK;
  const std::string name = restrictionPrefix + found->second.key;
  if (isSameSecret(headerOf(context, lowered(name)), found->second.value))
    return grpc::Status::OK;
  return {grpc::StatusCode::UNAVAILABLE,
          "This protocol is restricted, expecting header '" + name + "'"};
}

Status CallHost::acceptsRequests() const {
  return drains ? stopping() : Status::ok();
}

bool CallHost::add(std::shared_ptr<OpenCall> call) {
  const std::lock_guard lock(mutex);
  const OpenCall* const key = call.get();
  calls.emplace(key, std::move(call));
  return !refuses;
}

void CallHost::remove(const OpenCall* call) {
  std::shared_ptr<OpenCall> last; // ends it outside of the lock
  const std::lock_guard lock(mutex);
  const auto found = calls.find(call);
  if (found == calls.end())
    return;
  last = std::move(found->second);
  calls.erase(found);
}

void CallHost::abandonAll() {
  std::vector<std::shared_ptr<OpenCall>> all;
  {
    const std::lock_guard lock(mutex);
    refuses = true;
    for (const auto& [key, call] : calls)
      all.push_back(call);
  }
  for (const auto& call : all)
    call->abandon(shuttingDown());
}

std::shared_ptr<void> CallHost::countRequest() {
  ++*requests;
  return {nullptr, [counter = requests](void*) { --*counter; }};
}

} // namespace reciperun::server
