// The settings of the gRPC server. Their defaults are Triton's, where it has
// the same setting.

#ifndef RECIPERUN_SERVER_GRPC_GRPCSETTINGS_H
#define RECIPERUN_SERVER_GRPC_GRPCSETTINGS_H

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace reciperun::server {

/// Certificates and keys as texts in PEM form.
struct GrpcTls {
  std::string certificate; // and the certificates that it was signed with
  std::string key;
  /// Who signs the certificates of clients; empty: clients need none.
  std::string clientAuthorities;
};

/// The header that a restricted call needs.
struct GrpcRestriction {
  std::string key; // of the header `triton-grpc-protocol-<key>`
  std::string value;
};

struct GrpcLimits {
  size_t requestBytes = 0x7fffffff;       // of a message
  size_t metadataBytes = size_t(8) << 10; // headers of a call
  size_t callsPerConnection = 1000;       // at the same time; 0: any number
  /// Requests of one stream that have no last response yet. The server reads no
  /// further ones meanwhile.
  size_t streamRequests = 1024;
  /// Responses of one stream that its client has not taken yet. Above this the
  /// stream fails with RESOURCE_EXHAUSTED; a single larger response passes.
  size_t streamResponseBytes = size_t(64) << 20;
};

/// Pings that find dead connections.
struct GrpcKeepAlive {
  std::chrono::milliseconds time{7'200'000};
  std::chrono::milliseconds timeout{20'000};
  bool permitsWithoutCalls = false;
  int pingsWithoutData = 2; // that the server sends; 0: any number
  std::chrono::milliseconds leastPingInterval{300'000}; // of clients
  int pingStrikes = 2; // too early pings that it tolerates; 0: any number
  std::chrono::milliseconds connectionAge{0}; // at most; 0: any
  std::chrono::milliseconds connectionAgeGrace{0};
};

enum class GrpcCompression { none, low, medium, high };

struct GrpcSettings {
  std::string address = "0.0.0.0"; // a host name, an IPv4 or IPv6 address
  uint16_t port = 8001;            // 0: any that is free
  bool sharesPort = false;         // with other servers of the machine

  std::string serverName = "recipec"; // in its metadata
  std::string serverVersion;

  std::optional<GrpcTls> tls;
  /// By Triton's names of APIs: `health`, `metadata`, `inference`,
  /// `shared-memory`, `model-config`, `model-repository`, `statistics`, `trace`
  /// and `logging`.
  std::map<std::string, GrpcRestriction> restricted;

  GrpcLimits limits;
  GrpcKeepAlive keepAlive;
  GrpcCompression compression = GrpcCompression::none; // of infer responses
};

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_GRPC_GRPCSETTINGS_H
