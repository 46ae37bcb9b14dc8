// The passage of a call through the gate: its client, the limits that count it,
// and its line of the access log.

#ifndef RECIPERUN_SERVER_GRPC_CALLVISIT_H
#define RECIPERUN_SERVER_GRPC_CALLVISIT_H

#include "runtime/server/access/Gate.h"
#include "runtime/server/grpc/CallHost.h"
#include "runtime/server/models/InferRequest.h"

#include <grpcpp/server_context.h>
#include <grpcpp/support/status.h>

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace reciperun::server {

/// A method, and what a client needs to call it.
struct CallRule {
  const char* method;
  const char* api; // Triton's name: its header, where the API is restricted
  bool needsKey = true; // an API key, where the server takes some
  const char* service = "inference.GRPCInferenceService";
};

/// Belongs to the server's thread, besides the constructor.
class CallVisit {
public:
  /// The call arrives now. `host` and `context` must be valid until end().
  CallVisit(CallHost& host, grpc::CallbackServerContext& context,
            const CallRule& rule)
      : host(host), context(context), rule(rule) {}

  /// Whether the client may make the call; calls of the API `inference` are
  /// counted by the limits until end(). Must precede the first response.
  grpc::Status begin();

  void noteRequest(size_t bytes);
  void noteResponse(size_t bytes);
  /// The model of the last request.
  void noteModel(const std::string& model);
  void noteTokens(const TokenCounts& tokens);
  /// The client has cancelled the call or is gone.
  void noteCancel();
  /// Records the end of the call. Does nothing if begin() was not called.
  void end(const grpc::Status& status);

private:
  grpc::Status admit(const HttpRequest& request);
  grpc::Status refuse(const GateDenial& denial);
  grpc::Status checkRestriction(const HttpRequest& request) const;

  CallHost& host;
  grpc::CallbackServerContext& context;
  const CallRule rule;
  const GateVisit::Time arrival = GateVisit::Time::clock::now();
  std::optional<GateVisit> visit; // between begin() and end()
};

/// The address in gRPC's name of a client, such as `ipv4:127.0.0.1:50000` or
/// `ipv6:%5B::1%5D:50000`; the name itself where it has another form.
std::string addressOfPeer(std::string_view peer);

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_GRPC_CALLVISIT_H
