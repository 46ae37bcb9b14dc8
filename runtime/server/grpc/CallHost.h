// What all calls of a gRPC server share: its settings, the models, the gate and
// the calls that are open.

#ifndef RECIPERUN_SERVER_GRPC_CALLHOST_H
#define RECIPERUN_SERVER_GRPC_CALLHOST_H

#include "runtime/base/Status.h"
#include "runtime/server/grpc/GrpcSettings.h"

#include <grpcpp/support/status.h>

#include <atomic>
#include <cstddef>
#include <memory>
#include <mutex>
#include <unordered_map>

namespace reciperun::server {

class EventLoop;
class Gate;
class ModelServer;
struct SettingStore;

/// A call between its start and the end of gRPC's references to it.
class OpenCall {
public:
  virtual ~OpenCall() = default;
  /// Ends the call at once, unless it has ended. It uses no other thread.
  virtual void abandon(const grpc::Status& status) = 0;
};

class CallHost {
public:
  CallHost(GrpcSettings settings, EventLoop& loop, ModelServer& models,
           SettingStore& store, Gate& gate)
      : settings(std::move(settings)), loop(loop), models(models), store(store),
        gate(gate) {}

  const GrpcSettings settings;
  EventLoop& loop;

  // ---- of the server's thread
  ModelServer& models;
  SettingStore& store;
  Gate& gate;

  /// From now on acceptsRequests() fails.
  void drain() { drains = true; }
  Status acceptsRequests() const;

  /// Registers a call until remove(). Returns false if calls are refused: the
  /// call must end at once.
  bool add(std::shared_ptr<OpenCall> call);
  void remove(const OpenCall* call);
  /// Ends all calls, and refuses others.
  void abandonAll();

  /// Counts a request for inference as open while the result lives.
  std::shared_ptr<void> countRequest();
  size_t openRequests() const { return *requests; }

private:
  std::atomic<bool> drains = false;
  const std::shared_ptr<std::atomic<size_t>> requests =
      std::make_shared<std::atomic<size_t>>(0);
  std::mutex mutex;
  bool refuses = false;
  std::unordered_map<const OpenCall*, std::shared_ptr<OpenCall>> calls;
};

/// Why a call is refused or ended while the server stops.
grpc::Status shuttingDown();

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_GRPC_CALLHOST_H
