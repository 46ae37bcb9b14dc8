// ModelInfer through a client: answers, failures and their codes, cancellation,
// limits, draining and stopping.

#include "runtime/server/grpc/GrpcStatus.h"
#include "test/runtime/server/grpc/GrpcFixture.h"

#include <future>
#include <string>
#include <vector>

namespace reciperun::server {
namespace {

class InferCall : public GrpcFixture {
protected:
  grpc::Status infer(const inference::ModelInferRequest& request) {
    response.Clear();
    return call(&Stub::ModelInfer, request, response);
  }

  inference::ModelInferResponse response;
};

using grpc::StatusCode;

TEST(GrpcStatus, hasTheCodesOfTriton) {
  using Code = reciperun::StatusCode;
  const std::pair<Code, StatusCode> codes[] = {
      {Code::internal, StatusCode::INTERNAL},
      {Code::invalidArgument, StatusCode::INVALID_ARGUMENT},
      {Code::notFound, StatusCode::NOT_FOUND},
      {Code::alreadyExists, StatusCode::ALREADY_EXISTS},
      {Code::unavailable, StatusCode::UNAVAILABLE},
      {Code::unsupported, StatusCode::UNIMPLEMENTED},
      {Code::cancelled, StatusCode::CANCELLED},
      {Code::unknown, StatusCode::UNKNOWN}};
  for (const auto& [code, expected] : codes)
    expectFailure(grpcStatusOf(Status::error("why", code)), expected, "why");
  EXPECT_TRUE(grpcStatusOf(Status::ok()).ok());
}

TEST_F(InferCall, answersWithRawContents) {
  start();
  ASSERT_TRUE(infer(sumRequest("simple", "seven", 2)).ok());
  EXPECT_EQ(response.model_name(), "simple");
  EXPECT_EQ(response.model_version(), "1");
  EXPECT_EQ(response.id(), "seven");
  ASSERT_EQ(response.outputs_size(), 2);
  EXPECT_FALSE(response.outputs(0).has_contents());
  EXPECT_EQ(response.outputs(0).datatype(), "INT32");
  EXPECT_EQ(outputOf(response, 0).at(15), 17);
  EXPECT_EQ(outputOf(response, 1).at(15), 13);
}

TEST_F(InferCall, takesRawContents) {
  start();
  auto request = sumRequest("simple");
  for (auto& input : *request.mutable_inputs())
    input.clear_contents();
  request.add_raw_input_contents(std::string(64, '\1'));
  request.add_raw_input_contents(std::string(64, '\0'));
  request.add_outputs()->set_name("OUTPUT1");
  ASSERT_TRUE(infer(request).ok());
  ASSERT_EQ(response.outputs_size(), 1);
  EXPECT_EQ(response.outputs(0).name(), "OUTPUT1");
  EXPECT_EQ(response.raw_output_contents(0), std::string(64, '\1'));
}

TEST_F(InferCall, reportsFailuresOfTheModelServer) {
  start();
  expectFailure(infer(sumRequest("none")), StatusCode::NOT_FOUND,
                "Request for unknown model: 'none' is not found");
  expectFailure(infer(sumRequest("failing")), StatusCode::INTERNAL, "it broke");
  auto request = sumRequest("simple");
  request.mutable_inputs()->RemoveLast();
  const grpc::Status few = infer(request);
  EXPECT_EQ(few.error_code(), StatusCode::INVALID_ARGUMENT);
  EXPECT_NE(few.error_message().find("expected 2 inputs but got 1 inputs for "
                                     "model 'simple'"),
            std::string::npos)
      << few.error_message();
}

TEST_F(InferCall, reportsFailuresOfTheMessageOnceTheModelIsKnown) {
  start();
  auto request = sumRequest("none");
  request.add_raw_input_contents("");
  EXPECT_EQ(infer(request).error_code(), StatusCode::NOT_FOUND);
  request.set_model_name("simple");
  expectFailure(infer(request), StatusCode::INVALID_ARGUMENT,
                "contents field must not be specified when using "
                "raw_input_contents for 'INPUT0' for model 'simple'");
  request.set_model_version("one");
  expectFailure(infer(request), StatusCode::INVALID_ARGUMENT,
                "failed to get model version from specified version string "
                "'one' (details: stol), version should be an integral value > "
                "0");
}

TEST_F(InferCall, refusesModelsThatAreDecoupled) {
  start();
  expectFailure(infer(repeatRequest("", {1})), StatusCode::UNIMPLEMENTED,
                "ModelInfer RPC doesn't support models with decoupled "
                "transaction policy");
  EXPECT_TRUE(models.requests.empty());
}

TEST_F(InferCall, needsExactlyOneResponse) {
  start();
  expectFailure(infer(sumRequest("twice")), StatusCode::INTERNAL,
                "expected a single response, got 2");
  expectFailure(infer(sumRequest("silent")), StatusCode::INTERNAL,
                "expected a single response, got 0");
}

TEST_F(InferCall, cancelsTheRequestOfAClientThatIsGone) {
  start();
  grpc::ClientContext context;
  auto status = std::async(std::launch::async, [&] {
    return stub->ModelInfer(&context, sumRequest("held"), &response);
  });
  ASSERT_TRUE(models.arrivals.try_acquire_for(longEnough));
  EXPECT_EQ(server->openRequests(), 1u);
  context.TryCancel();
  EXPECT_TRUE(models.cancellations.try_acquire_for(longEnough));
  EXPECT_EQ(status.get().error_code(), StatusCode::CANCELLED);
  onLoop([] {}); // the response that says so has arrived
  EXPECT_EQ(server->openRequests(), 0u);
  EXPECT_TRUE(infer(sumRequest("simple")).ok());
}

TEST_F(InferCall, cancelsTheRequestAtTheDeadline) {
  start();
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() +
                       std::chrono::milliseconds(50));
  EXPECT_EQ(
      stub->ModelInfer(&context, sumRequest("held"), &response).error_code(),
      StatusCode::DEADLINE_EXCEEDED);
  // It may have been too late for the model to get the request.
  if (models.arrivals.try_acquire_for(std::chrono::seconds(1))) {
    EXPECT_TRUE(models.cancellations.try_acquire_for(longEnough));
  }
}

TEST_F(InferCall, refusesLargeMessages) {
  GrpcSettings settings;
  settings.limits.requestBytes = 1000;
  start(settings);
  EXPECT_TRUE(infer(sumRequest("simple")).ok());
  EXPECT_EQ(infer(sumRequest("simple", std::string(1000, 'x'))).error_code(),
            StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_TRUE(infer(sumRequest("simple")).ok());
}

TEST_F(InferCall, refusesLargeMetadata) {
  GrpcSettings settings;
  settings.limits.metadataBytes = 1000;
  start(settings);
  const std::string large(2000, 'x');
  EXPECT_FALSE(call(&Stub::ModelInfer, sumRequest("simple"), response,
                    {{"large", large.c_str()}})
                   .ok());
  EXPECT_TRUE(models.requests.empty());
  // The server may close the connection. A call that waits for another one
  // succeeds; one that is already sent on the closing one is unavailable.
  const auto deadline = std::chrono::system_clock::now() + longEnough;
  grpc::Status status;
  do {
    grpc::ClientContext context;
    context.set_wait_for_ready(true);
    context.set_deadline(deadline);
    status = stub->ModelInfer(&context, sumRequest("simple"), &response);
  } while (status.error_code() == StatusCode::UNAVAILABLE &&
           std::chrono::system_clock::now() < deadline);
  EXPECT_TRUE(status.ok()) << status.error_message();
}

TEST_F(InferCall, drainsByRefusingNewRequests) {
  start();
  auto held = std::async(std::launch::async,
                         [this] { return infer(sumRequest("held")); });
  ASSERT_TRUE(models.arrivals.try_acquire_for(longEnough));
  server->drain();
  inference::ModelInferResponse other;
  const std::string refusal = "GRPC server is shutting down and has stopped "
                              "accepting new requests.";
  expectFailure(call(&Stub::ModelInfer, sumRequest("simple"), other),
                StatusCode::UNAVAILABLE, refusal);
  inference::RepositoryModelLoadResponse loaded;
  expectFailure(call(&Stub::RepositoryModelLoad, {}, loaded),
                StatusCode::UNAVAILABLE, refusal);
  inference::ServerLiveResponse live;
  EXPECT_TRUE(call(&Stub::ServerLive, {}, live).ok());
  EXPECT_EQ(server->openRequests(), 1u);
  onLoop([this] { FakeModels::answerSum(*takeOpen()); });
  EXPECT_TRUE(held.get().ok());
  EXPECT_EQ(server->openRequests(), 0u);
}

TEST_F(InferCall, stoppingCancelsRequests) {
  start();
  auto held = std::async(std::launch::async,
                         [this] { return infer(sumRequest("held")); });
  ASSERT_TRUE(models.arrivals.try_acquire_for(longEnough));
  onLoop([this] { server->stop(); });
  expectFailure(held.get(), StatusCode::UNAVAILABLE,
                "GRPC server is shutting down and has stopped accepting new "
                "requests.");
  EXPECT_TRUE(models.cancellations.try_acquire_for(longEnough));
  EXPECT_EQ(infer(sumRequest("simple")).error_code(), StatusCode::UNAVAILABLE);
}

TEST_F(InferCall, stopsAfterTheLoopHasEnded) {
  start();
  auto held = std::async(std::launch::async,
                         [this] { return infer(sumRequest("held")); });
  ASSERT_TRUE(models.arrivals.try_acquire_for(longEnough));
  endLoop();
  server->stop();
  EXPECT_EQ(held.get().error_code(), StatusCode::UNAVAILABLE);
}

TEST_F(InferCall, answersManyClientsAtOnce) {
  start();
  std::vector<std::future<void>> clients;
  for (int32_t client = 0; client < 8; ++client)
    clients.push_back(std::async(std::launch::async, [this, client] {
      const auto own = inference::GRPCInferenceService::NewStub(
          connect(grpc::InsecureChannelCredentials()));
      for (int32_t i = 0; i < 50; ++i) {
        grpc::ClientContext context;
        inference::ModelInferResponse answer;
        const auto request =
            sumRequest("simple", std::to_string(i), 100 * client + i);
        ASSERT_TRUE(own->ModelInfer(&context, request, &answer).ok());
        EXPECT_EQ(outputOf(answer).at(1), 100 * client + i + 1);
      }
    }));
  for (auto& client : clients)
    client.get();
}

TEST(GrpcServer, refusesAPortThatIsTaken) {
  FakeModels models;
  SettingStore store;
  const auto loop = EventLoop::open();
  const auto open = Gate::open({});
  ASSERT_TRUE(loop && open);
  GrpcSettings settings;
  settings.address = "127.0.0.1";
  settings.port = 0;
  const auto first = GrpcServer::start(settings, **loop, models, store, **open);
  ASSERT_TRUE(first) << first.message();
  settings.port = (*first)->port();
  const auto second =
      GrpcServer::start(settings, **loop, models, store, **open);
  EXPECT_EQ(second.message(), "cannot listen for gRPC on `127.0.0.1:" +
                                  std::to_string(settings.port) + "`");
}

} // namespace
} // namespace reciperun::server
