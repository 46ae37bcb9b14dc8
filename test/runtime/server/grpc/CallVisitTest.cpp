// Calls at the gate: the limits of their keys, and their lines of the access
// log.

#include "runtime/server/grpc/CallVisit.h"

#include "test/runtime/server/grpc/GrpcFixture.h"

#include <filesystem>
#include <fstream>
#include <future>
#include <iterator>
#include <string>
#include <unistd.h>

namespace reciperun::server {
namespace {

namespace fs = std::filesystem;
using grpc::StatusCode;

// `printf %s k1 | sha256sum`
constexpr const char* hashOfK1 =
    "6ab9f1eb8f7d3388f4f9d586f66e99fd54080df2c446f0e58668b09c08a16dd0";
constexpr const char* keyHeader = "Bearer k1";

class CallVisits : public GrpcFixture {
protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "callsXXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder = name;
    std::ofstream(folder / "keys") << hashOfK1 << " name=one requests=1\n";
  }
  ~CallVisits() override { fs::remove_all(folder); }

  void startWithKeys() {
    start({}, {.apiKeyFile = folder / "keys", .accessLog = folder / "log"});
  }

  /// A call of the key.
  grpc::Status infer(const char* model) {
    inference::ModelInferResponse response;
    return call(&Stub::ModelInfer, sumRequest(model), response,
                {{"authorization", keyHeader}, {"x-request-id", model}});
  }

  void expectRefused(const grpc::Status& status) {
    EXPECT_EQ(status.error_code(), StatusCode::RESOURCE_EXHAUSTED);
    EXPECT_EQ(status.error_message(),
              "this API key has 1 requests in progress, of at most 1");
  }

  std::string logText() const {
    std::ifstream file(folder / "log");
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void expectInLog(const std::string& text) const {
    EXPECT_NE(logText().find(text), std::string::npos) << logText();
  }

  fs::path folder;
};

TEST_F(CallVisits, countAmongTheRequestsOfTheirKey) {
  startWithKeys();
  auto held = std::async(std::launch::async, [this] { return infer("held"); });
  ASSERT_TRUE(models.arrivals.try_acquire_for(longEnough));
  expectRefused(infer("simple"));
  inference::ModelMetadataRequest request;
  request.set_name("simple");
  inference::ModelMetadataResponse metadata;
  EXPECT_TRUE(call(&Stub::ModelMetadata, request, metadata,
                   {{"authorization", keyHeader}})
                  .ok());
  onLoop([this] { FakeModels::answerSum(*takeOpen()); });
  EXPECT_TRUE(held.get().ok());
  EXPECT_TRUE(infer("simple").ok());
}

TEST_F(CallVisits, refusalsSayWhenToTryAgain) {
  startWithKeys();
  auto held = std::async(std::launch::async, [this] { return infer("held"); });
  ASSERT_TRUE(models.arrivals.try_acquire_for(longEnough));
  grpc::ClientContext context;
  context.AddMetadata("authorization", keyHeader);
  inference::ModelInferResponse response;
  expectRefused(stub->ModelInfer(&context, sumRequest("simple"), &response));
  EXPECT_EQ(context.GetServerTrailingMetadata().find("retry-after")->second,
            "1");
  onLoop([this] { FakeModels::answerSum(*takeOpen()); });
  EXPECT_TRUE(held.get().ok());
}

TEST_F(CallVisits, ofAStreamIsOneRequest) {
  startWithKeys();
  grpc::ClientContext context;
  context.AddMetadata("authorization", keyHeader);
  const auto stream = stub->ModelStreamInfer(&context);
  inference::ModelStreamInferResponse response;
  for (int i = 0; i < 2; ++i) {
    EXPECT_TRUE(stream->Write(sumRequest("simple")));
    EXPECT_TRUE(stream->Read(&response));
    EXPECT_EQ(response.error_message(), "");
  }
  expectRefused(infer("simple"));
  stream->WritesDone();
  EXPECT_FALSE(stream->Read(&response));
  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_TRUE(infer("simple").ok());
}

TEST_F(CallVisits, countAmongTheRequestsOfTheServer) {
  start({}, {.mostRequests = 1});
  auto held = std::async(std::launch::async, [this] { return infer("held"); });
  ASSERT_TRUE(models.arrivals.try_acquire_for(longEnough));
  const grpc::Status second = infer("simple");
  EXPECT_EQ(second.error_code(), StatusCode::UNAVAILABLE);
  EXPECT_EQ(second.error_message(),
            "the server has 1 requests in progress, of at most 1");
  onLoop([this] { FakeModels::answerSum(*takeOpen()); });
  EXPECT_TRUE(held.get().ok());
}

TEST_F(CallVisits, areInTheAccessLog) {
  startWithKeys();
  const std::string bytes = std::to_string(sumRequest("simple").ByteSizeLong());
  EXPECT_TRUE(infer("simple").ok());
  expectInLog(R"("id":"simple","client":"127.0.0.1","method":"POST",)"
              R"("path":"/inference.GRPCInferenceService/ModelInfer",)"
              R"("grpc_status":0,"bytes_in":)" +
              bytes + R"(,"bytes_out":)");
  expectInLog(R"("first_byte_ms":)");
  expectInLog(R"("model":"simple","tokens_in":3,"tokens_out":2,"key":"one"})");
  EXPECT_EQ(infer("none").error_code(), StatusCode::NOT_FOUND);
  expectInLog(R"("grpc_status":5,)");
  inference::ServerLiveResponse live;
  EXPECT_TRUE(call(&Stub::ServerLive, {}, live).ok());
  expectInLog(R"("path":"/inference.GRPCInferenceService/ServerLive",)");
  const auto health = grpc::health::v1::Health::NewStub(
      connect(grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  grpc::health::v1::HealthCheckResponse checked;
  EXPECT_TRUE(health->Check(&context, {}, &checked).ok());
  expectInLog(R"("path":"/grpc.health.v1.Health/Check",)");
  inference::ServerMetadataResponse metadata;
  EXPECT_EQ(call(&Stub::ServerMetadata, {}, metadata).error_code(),
            StatusCode::UNAUTHENTICATED);
  expectInLog(R"("grpc_status":16,)");
}

TEST_F(CallVisits, ofAStreamIsOneLine) {
  startWithKeys();
  {
    grpc::ClientContext context;
    context.AddMetadata("authorization", keyHeader);
    const auto stream = stub->ModelStreamInfer(&context);
    inference::ModelStreamInferResponse response;
    size_t bytes = 0;
    for (const char* model : {"simple", "none"}) {
      EXPECT_TRUE(stream->Write(sumRequest(model)));
      EXPECT_TRUE(stream->Read(&response));
      bytes += response.ByteSizeLong();
    }
    stream->WritesDone();
    EXPECT_TRUE(stream->Finish().ok());
    const std::string asked =
        std::to_string(sumRequest("simple").ByteSizeLong() +
                       sumRequest("none").ByteSizeLong());
    expectInLog(R"(Service/ModelStreamInfer","grpc_status":0,"bytes_in":)" +
                asked + R"(,"bytes_out":)" + std::to_string(bytes) + ",");
    expectInLog(R"("tokens_in":3,"tokens_out":2,)");
  }
  grpc::ClientContext context;
  context.AddMetadata("authorization", keyHeader);
  const auto stream = stub->ModelStreamInfer(&context);
  EXPECT_TRUE(stream->Write(sumRequest("held")));
  ASSERT_TRUE(models.arrivals.try_acquire_for(longEnough));
  context.TryCancel();
  EXPECT_TRUE(models.cancellations.try_acquire_for(longEnough));
  onLoop([] {}); // the end that cancels the request writes the line
  expectInLog(R"(Service/ModelStreamInfer","grpc_status":1,)");
  expectInLog(R"("aborted":true)");
}

TEST_F(CallVisits, passIdsAndTracesOn) {
  startWithKeys();
  const std::string trace =
      "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  grpc::ClientContext context;
  context.AddMetadata("authorization", "bearer  k1");
  context.AddMetadata("traceparent", trace);
  inference::ModelInferResponse response;
  EXPECT_TRUE(stub->ModelInfer(&context, sumRequest("simple"), &response).ok());
  const auto& headers = context.GetServerInitialMetadata();
  EXPECT_EQ(headers.find("traceparent")->second, trace);
  const auto& id = headers.find("x-request-id")->second;
  expectInLog(R"("id":")" + std::string(id.data(), id.size()) + R"(",)");
  expectInLog(R"("trace_id":"0af7651916cd43dd8448eb211c80319c",)");
}

TEST(AddressOfPeer, isWithoutAPort) {
  EXPECT_EQ(addressOfPeer("ipv4:127.0.0.1:50000"), "127.0.0.1");
  EXPECT_EQ(addressOfPeer("ipv6:%5B::1%5D:50000"), "::1");
  EXPECT_EQ(addressOfPeer("ipv6:[::1]:50000"), "::1");
  EXPECT_EQ(addressOfPeer("unix:/tmp/a"), "unix:/tmp/a");
}

} // namespace
} // namespace reciperun::server
