// See CallVisit.h. The gate sees a call as the request of HTTP/2 that it is.

#include "runtime/server/grpc/CallVisit.h"

#include <algorithm>
#include <utility>

namespace reciperun::server {
namespace {

constexpr const char* restrictionPrefix = "triton-grpc-protocol-";

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

HttpRequest httpRequestOf(const grpc::CallbackServerContext& context,
                          const CallRule& rule) {
  HttpRequest request;
  request.method = "POST";
  request.path = std::string("/") + rule.service + "/" + rule.method;
  for (const auto& [name, value] : context.client_metadata())
    request.headers.emplace(std::string(name.data(), name.size()),
                            std::string(value.data(), value.size()));
  request.client = addressOfPeer(context.peer());
  return request;
}

grpc::StatusCode grpcCodeOf(const GateDenial& denial) {
  switch (denial.status) {
  case 401:
    return grpc::StatusCode::UNAUTHENTICATED;
  case 429:
    return grpc::StatusCode::RESOURCE_EXHAUSTED;
  default:
    return grpc::StatusCode::UNAVAILABLE;
  }
}

} // namespace

grpc::Status CallVisit::begin() {
  const HttpRequest request = httpRequestOf(context, rule);
  visit = Gate::begin(request, arrival);
  for (const auto& [name, value] : visit->answerHeaders)
    context.AddInitialMetadata(lowered(name), value);
  return admit(request);
}

grpc::Status CallVisit::admit(const HttpRequest& request) {
  if (rule.needsKey)
    if (const auto denial = host.gate.authenticate(request, *visit))
      return refuse(*denial);
  if (grpc::Status restricted = checkRestriction(request); !restricted.ok())
    return restricted;
  if (rule.api == std::string_view("inference"))
    if (const auto denial = host.gate.limit(*visit))
      return refuse(*denial);
  return grpc::Status::OK;
}

grpc::Status CallVisit::refuse(const GateDenial& denial) {
  if (denial.retryAfter > 0)
    context.AddTrailingMetadata("retry-after",
                                std::to_string(denial.retryAfter));
  return {grpcCodeOf(denial), denial.message};
}

grpc::Status CallVisit::checkRestriction(const HttpRequest& request) const {
  const auto& restricted = host.settings.restricted;
  const auto found = restricted.find(rule.api);
  if (found == restricted.end())
    return grpc::Status::OK;
  const std::string name = restrictionPrefix + found->second.key;
  if (isSameSecret(request.header(lowered(name)), found->second.value))
    return grpc::Status::OK;
  return {grpc::StatusCode::UNAVAILABLE,
          "This protocol is restricted, expecting header '" + name + "'"};
}

void CallVisit::noteRequest(size_t bytes) {
  if (visit)
    visit->record.bytesIn += bytes;
}

void CallVisit::noteResponse(size_t bytes) {
  if (!visit)
    return;
  AccessRecord& record = visit->record;
  record.bytesOut += bytes;
  if (!record.firstByte)
    record.firstByte = visit->millisecondsUntil(GateVisit::Time::clock::now());
}

void CallVisit::noteModel(const std::string& model) {
  if (visit)
    visit->record.model = model;
}

void CallVisit::noteTokens(const TokenCounts& tokens) {
  if (!visit)
    return;
  visit->record.promptTokens += tokens.prompt;
  visit->record.answerTokens += tokens.answer;
}

void CallVisit::noteCancel() {
  if (visit)
    visit->record.isComplete = false;
}

void CallVisit::end(const grpc::Status& status) {
  if (!visit)
    return;
  visit->record.grpcStatus = status.error_code();
  host.gate.end(*visit);
  visit.reset();
}

std::string addressOfPeer(std::string_view peer) {
  const auto drop = [&peer](std::string_view start, std::string_view end) {
    if (peer.starts_with(start) && peer.ends_with(end)) {
      peer.remove_prefix(start.size());
      peer.remove_suffix(end.size());
    }
  };
  if (!peer.starts_with("ipv4:") && !peer.starts_with("ipv6:"))
    return std::string(peer);
  peer.remove_prefix(peer.find(':') + 1);
  peer = peer.substr(0, peer.rfind(':'));
  drop("%5B", "%5D");
  drop("[", "]");
  return std::string(peer);
}

} // namespace reciperun::server
