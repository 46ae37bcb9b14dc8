// A gRPC server with fake models on a thread of its own, and a client.

#ifndef RECIPERUN_TEST_SERVER_GRPC_GRPCFIXTURE_H
#define RECIPERUN_TEST_SERVER_GRPC_GRPCFIXTURE_H

#include "runtime/server/access/Gate.h"
#include "runtime/server/grpc/GrpcServer.h"
#include "runtime/server/grpc/grpc_service.grpc.pb.h"
#include "runtime/server/grpc/health.grpc.pb.h"
#include "runtime/server/http/EventLoop.h"
#include "runtime/server/settings/SettingStore.h"
#include "test/runtime/server/grpc/FakeModels.h"

#include <grpcpp/create_channel.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <initializer_list>
#include <memory>
#include <semaphore>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace reciperun::server {

constexpr std::chrono::seconds longEnough{20}; // for what happens at once

class GrpcFixture : public testing::Test {
protected:
  ~GrpcFixture() override;

  /// Listens to a free port of this machine.
  void start(GrpcSettings settings = {}, GateSettings access = {});
  /// Runs `work` on the server's thread and waits for it.
  void onLoop(const std::function<void()>& work);
  /// Ends the server's thread before the server.
  void endLoop();
  /// The oldest request that waits at a model; of the server's thread.
  std::shared_ptr<Inference> takeOpen();

  std::shared_ptr<grpc::Channel>
  connect(std::shared_ptr<grpc::ChannelCredentials> credentials,
          const grpc::ChannelArguments& arguments = {}) const;

  using Stub = inference::GRPCInferenceService::Stub;
  using Headers = std::initializer_list<std::pair<const char*, const char*>>;
  /// A call of a method of the stub, with headers. It fails where the server
  /// takes too long.
  template <class Request, class Response>
  grpc::Status call(grpc::Status (Stub::*method)(grpc::ClientContext*,
                                                 const Request&, Response*),
                    const Request& request, Response& response,
                    Headers headers = {}) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + longEnough);
    for (const auto& [name, value] : headers)
      context.AddMetadata(name, value);
    return (stub.get()->*method)(&context, request, &response);
  }

  FakeModels models;
  SettingStore store;
  std::unique_ptr<Gate> gate;
  std::unique_ptr<EventLoop> loop;
  std::unique_ptr<GrpcServer> server;
  std::unique_ptr<Stub> stub;

private:
  std::thread thread;
};

/// A request of a model like `simple`: INPUT0 is 0, 1, ..., 15 and INPUT1 is
/// sixteen times `addend`, both as contents.
inference::ModelInferRequest sumRequest(const std::string& model,
                                        const std::string& id = "",
                                        int32_t addend = 1);
/// A request of `repeat`.
inference::ModelInferRequest repeatRequest(const std::string& id,
                                           const std::vector<int32_t>& values);
/// The elements of an output of INT32.
std::vector<int32_t> outputOf(const inference::ModelInferResponse& response,
                              int index = 0);

/// Expects a status with this code and message.
void expectFailure(const grpc::Status& status, grpc::StatusCode code,
                   const std::string& message);

} // namespace reciperun::server

#endif // RECIPERUN_TEST_SERVER_GRPC_GRPCFIXTURE_H
