// See GrpcServer.h.

#include "runtime/server/grpc/GrpcServer.h"

#include "runtime/server/grpc/CallHost.h"
#include "runtime/server/grpc/InferenceService.h"

#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <algorithm>
#include <array>
#include <climits>
#include <string>
#include <utility>

namespace reciperun::server {
namespace {

/// For how long a stopping server waits for clients to take their last answers.
constexpr std::chrono::seconds stopTime{1};

Status checkRestricted(const GrpcSettings& settings) {
  constexpr std::array apis = {
      "health",        "metadata",     "inference",
      "shared-memory", "model-config", "model-repository",
      "statistics",    "trace",        "logging"};
  for (const auto& [api, rule] : settings.restricted) {
    if (std::ranges::find(apis, api) == apis.end())
      return Status::error("there is no API `" + api + "` to restrict");
    if (rule.key.empty())
      return Status::error("the restriction of `" + api + "` has no key");
  }
  return Status::ok();
}

/// `host:port`, with brackets around an IPv6 address.
std::string endpointOf(const GrpcSettings& settings) {
  const std::string& address = settings.address;
  const bool isBare =
      address.find(':') != std::string::npos && address.front() != '[';
  return (isBare ? "[" + address + "]" : address) + ":" +
         std::to_string(settings.port);
}

std::shared_ptr<grpc::ServerCredentials>
credentialsOf(const std::optional<GrpcTls>& tls) {
  if (!tls)
    return grpc::InsecureServerCredentials();
  const bool isMutual = !tls->clientAuthorities.empty();
  grpc::SslServerCredentialsOptions options(
      isMutual ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
               : GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE);
  options.pem_root_certs = tls->clientAuthorities;
  options.pem_key_cert_pairs.push_back({tls->key, tls->certificate});
  return grpc::SslServerCredentials(options);
}

int intOf(size_t value) {
  return int(std::min(value, size_t(INT_MAX)));
}

int intOf(std::chrono::milliseconds value) {
  return int(std::clamp<int64_t>(value.count(), 0, INT_MAX));
}

void applyLimits(const GrpcLimits& limits, grpc::ServerBuilder& builder) {
  builder.SetMaxReceiveMessageSize(intOf(limits.requestBytes));
  builder.SetMaxSendMessageSize(INT_MAX);
  builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE,
                             intOf(limits.metadataBytes));
  if (limits.callsPerConnection > 0)
    builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS,
                               intOf(limits.callsPerConnection));
}

void applyKeepAlive(const GrpcKeepAlive& keep, grpc::ServerBuilder& builder) {
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, intOf(keep.time));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS,
                             intOf(keep.timeout));
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS,
                             int(keep.permitsWithoutCalls));
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA,
                             keep.pingsWithoutData);
  builder.AddChannelArgument(
      GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
      intOf(keep.leastPingInterval));
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PING_STRIKES, keep.pingStrikes);
  if (keep.connectionAge.count() > 0)
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_MS,
                               intOf(keep.connectionAge));
  if (keep.connectionAgeGrace.count() > 0)
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_AGE_GRACE_MS,
                               intOf(keep.connectionAgeGrace));
}

} // namespace

struct GrpcServer::Parts {
  Parts(GrpcSettings settings, EventLoop& loop, ModelServer& models,
        SettingStore& store, Gate& gate)
      : host(std::make_shared<CallHost>(std::move(settings), loop, models,
                                        store, gate)),
        inference(host), health(host) {}

  Status listen();

  const std::shared_ptr<CallHost> host;
  InferenceService inference;
  HealthService health;
  std::unique_ptr<grpc::Server> server;
  int port = 0;
};

Status GrpcServer::Parts::listen() {
  const GrpcSettings& settings = host->settings;
  grpc::ServerBuilder builder;
  builder.AddListeningPort(endpointOf(settings), credentialsOf(settings.tls),
                           &port);
  builder.RegisterService(&inference);
  builder.RegisterService(&health);
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT,
                             int(settings.sharesPort));
  applyLimits(settings.limits, builder);
  applyKeepAlive(settings.keepAlive, builder);
  server = builder.BuildAndStart();
  if (server && port > 0)
    return Status::ok();
  return Status::error(
      "cannot listen for gRPC on `" + endpointOf(settings) + "`" +
      (settings.tls ? ", or the certificate or its key is not valid" : ""));
}

GrpcServer::GrpcServer(std::unique_ptr<Parts> parts)
    : parts(std::move(parts)) {}

GrpcServer::~GrpcServer() {
  stop();
}

Expected<std::unique_ptr<GrpcServer>>
GrpcServer::start(GrpcSettings settings, EventLoop& loop, ModelServer& models,
                  SettingStore& store, Gate& gate) {
  RECIPERUN_TRY(checkRestricted(settings));
  auto parts =
      std::make_unique<Parts>(std::move(settings), loop, models, store, gate);
  RECIPERUN_TRY(parts->listen());
  return std::unique_ptr<GrpcServer>(new GrpcServer(std::move(parts)));
}

uint16_t GrpcServer::port() const {
  return uint16_t(parts->port);
}

void GrpcServer::drain() {
  parts->host->drain();
}

size_t GrpcServer::openRequests() const {
  return parts->host->openRequests();
}

void GrpcServer::stop() {
  if (!parts->server)
    return;
  parts->host->abandonAll();
  parts->server->Shutdown(std::chrono::system_clock::now() + stopTime);
  parts->server = nullptr;
}

} // namespace reciperun::server
