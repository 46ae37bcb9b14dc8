// KServe's protocol version 2 over gRPC, with Triton's extensions, as Triton
// serves it.
//
// gRPC's threads receive calls and send answers; the models are asked on the
// server's thread, by work that is posted to its event loop.

#ifndef RECIPERUN_SERVER_GRPC_GRPCSERVER_H
#define RECIPERUN_SERVER_GRPC_GRPCSERVER_H

#include "runtime/base/Status.h"
#include "runtime/server/grpc/GrpcSettings.h"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace reciperun::server {

class EventLoop;
class Gate;
class ModelServer;
struct SettingStore;

class GrpcServer {
public:
  /// Listens and answers calls that pass the gate. Calls that ask whether the
  /// server is live or ready need no API key. What is given by reference must
  /// outlive the server. Fails for a restriction of an unknown API, for a
  /// certificate or key that is no PEM text, and when the port is taken.
  static Expected<std::unique_ptr<GrpcServer>>
  start(GrpcSettings settings, EventLoop& loop, ModelServer& models,
        SettingStore& store, Gate& gate);
  GrpcServer(const GrpcServer&) = delete;
  GrpcServer& operator=(const GrpcServer&) = delete;
  /// Stops the server.
  ~GrpcServer();

  /// The port that it listens to.
  uint16_t port() const;

  /// Refuses requests for inference, loading and unloading from now on; those
  /// that have begun are answered. Any thread may call it.
  void drain();
  /// Requests for inference that have no last response yet. Any thread may call
  /// it.
  size_t openRequests() const;

  /// Ends all calls, cancels their requests and closes the port. Only the
  /// server's thread may call it, or any thread after the loop has ended.
  void stop();

private:
  struct Parts;
  explicit GrpcServer(std::unique_ptr<Parts> parts);

  std::unique_ptr<Parts> parts;
};

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_GRPC_GRPCSERVER_H
