// Who may call: restricted APIs, API keys and TLS.

#include "test/runtime/server/grpc/GrpcFixture.h"

#include <grpcpp/security/credentials.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <unistd.h>

namespace reciperun::server {
namespace {

using grpc::StatusCode;

class Access : public GrpcFixture {
protected:
  StatusCode inferCode(Headers headers = {}) {
    inference::ModelInferResponse response;
    last = call(&Stub::ModelInfer, sumRequest("simple"), response, headers);
    return last.error_code();
  }
  StatusCode liveCode(Headers headers = {}) {
    inference::ServerLiveResponse response;
    last = call(&Stub::ServerLive, {}, response, headers);
    return last.error_code();
  }

  grpc::Status last;
};

TEST_F(Access, restrictedApisNeedTheirHeader) {
  GrpcSettings settings;
  settings.restricted["inference"] = {"Admin-Key", "secret"};
  start(settings);
  EXPECT_EQ(liveCode(), StatusCode::OK);
  EXPECT_EQ(inferCode(), StatusCode::UNAVAILABLE);
  EXPECT_EQ(last.error_message(),
            "This protocol is restricted, expecting header "
            "'triton-grpc-protocol-Admin-Key'");
  const char* const header = "triton-grpc-protocol-admin-key";
  EXPECT_EQ(inferCode({{header, "secres"}}), StatusCode::UNAVAILABLE);
  EXPECT_EQ(inferCode({{header, "secret2"}}), StatusCode::UNAVAILABLE);
  EXPECT_EQ(inferCode({{header, "secre"}}), StatusCode::UNAVAILABLE);
  EXPECT_EQ(inferCode({{header, "secret"}}), StatusCode::OK);

  grpc::ClientContext context;
  const auto stream = stub->ModelStreamInfer(&context);
  inference::ModelStreamInferResponse response;
  EXPECT_FALSE(stream->Read(&response));
  EXPECT_EQ(stream->Finish().error_code(), StatusCode::UNAVAILABLE);
}

/// A call of each API, with any outcome but that of a restricted one.
TEST_F(Access, eachApiIsRestrictedByItself) {
  const char* const apis[] = {
      "health",        "metadata",     "inference",
      "shared-memory", "model-config", "model-repository",
      "statistics",    "trace",        "logging"};
  GrpcSettings settings;
  for (const char* api : apis)
    settings.restricted[api] = {api, "yes"};
  start(settings);
  const auto isOpen = [&](const char* api, auto method, auto request,
                          auto response) {
    const std::string header = std::string("triton-grpc-protocol-") + api;
    const auto refused = [&](const char* value) {
      return call(method, request, response, {{header.c_str(), value}})
          .error_message()
          .starts_with("This protocol is restricted");
    };
    return refused("no") && !refused("yes");
  };
  using namespace inference;
  EXPECT_TRUE(isOpen("health", &Stub::ServerLive, ServerLiveRequest(),
                     ServerLiveResponse()));
  EXPECT_TRUE(isOpen("health", &Stub::ServerReady, ServerReadyRequest(),
                     ServerReadyResponse()));
  EXPECT_TRUE(isOpen("health", &Stub::ModelReady, ModelReadyRequest(),
                     ModelReadyResponse()));
  EXPECT_TRUE(isOpen("metadata", &Stub::ServerMetadata, ServerMetadataRequest(),
                     ServerMetadataResponse()));
  EXPECT_TRUE(isOpen("metadata", &Stub::ModelMetadata, ModelMetadataRequest(),
                     ModelMetadataResponse()));
  EXPECT_TRUE(isOpen("inference", &Stub::ModelInfer, ModelInferRequest(),
                     ModelInferResponse()));
  EXPECT_TRUE(isOpen("shared-memory", &Stub::SystemSharedMemoryStatus,
                     SystemSharedMemoryStatusRequest(),
                     SystemSharedMemoryStatusResponse()));
  EXPECT_TRUE(isOpen("shared-memory", &Stub::CudaSharedMemoryRegister,
                     CudaSharedMemoryRegisterRequest(),
                     CudaSharedMemoryRegisterResponse()));
  EXPECT_TRUE(isOpen("model-config", &Stub::ModelConfig, ModelConfigRequest(),
                     ModelConfigResponse()));
  EXPECT_TRUE(isOpen("model-repository", &Stub::RepositoryIndex,
                     RepositoryIndexRequest(), RepositoryIndexResponse()));
  EXPECT_TRUE(isOpen("model-repository", &Stub::RepositoryModelLoad,
                     RepositoryModelLoadRequest(),
                     RepositoryModelLoadResponse()));
  EXPECT_TRUE(isOpen("statistics", &Stub::ModelStatistics,
                     ModelStatisticsRequest(), ModelStatisticsResponse()));
  EXPECT_TRUE(isOpen("trace", &Stub::TraceSetting, TraceSettingRequest(),
                     TraceSettingResponse()));
  EXPECT_TRUE(isOpen("logging", &Stub::LogSettings, LogSettingsRequest(),
                     LogSettingsResponse()));
}

TEST_F(Access, unknownApisCannotBeRestricted) {
  const auto loop = EventLoop::open();
  const auto open = Gate::open({});
  ASSERT_TRUE(loop && open);
  GrpcSettings settings;
  settings.restricted["inferrence"] = {"k", "v"};
  EXPECT_EQ(
      GrpcServer::start(settings, **loop, models, store, **open).message(),
      "there is no API `inferrence` to restrict");
  settings.restricted = {{"inference", {"", "v"}}};
  EXPECT_EQ(
      GrpcServer::start(settings, **loop, models, store, **open).message(),
      "the restriction of `inference` has no key");
}

TEST_F(Access, callsNeedAnApiKey) {
  start({}, {.apiKeys = {"k1"}});
  EXPECT_EQ(inferCode(), StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(last.error_message(), "the request has no API key; send it as "
                                  "`authorization: Bearer KEY`");
  EXPECT_EQ(inferCode({{"authorization", "Bearer k2"}}),
            StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(last.error_message(), "the API key is not valid");
  EXPECT_EQ(inferCode({{"authorization", "Basic k1"}}),
            StatusCode::UNAUTHENTICATED);
  EXPECT_EQ(inferCode({{"authorization", "Bearer k1"}}), StatusCode::OK);
  EXPECT_EQ(inferCode({{"x-api-key", "k1"}}), StatusCode::OK);
  EXPECT_EQ(liveCode(), StatusCode::OK);

  grpc::ClientContext context;
  const auto stream = stub->ModelStreamInfer(&context);
  inference::ModelStreamInferResponse response;
  EXPECT_FALSE(stream->Read(&response));
  EXPECT_EQ(stream->Finish().error_code(), StatusCode::UNAUTHENTICATED);
}

/// A certificate of `localhost` that signs itself, and its key.
struct SelfSigned {
  std::string certificate, key;
};

std::string contentsOf(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

SelfSigned makeCertificate() {
  std::string folder =
      (std::filesystem::temp_directory_path() / "grpcXXXXXX").string();
  if (!mkdtemp(folder.data()))
    return {};
  const std::string command =
      "cd '" + folder +
      "' && openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 "
      "-nodes -days 2 -subj /CN=localhost -addext "
      "subjectAltName=DNS:localhost -keyout key -out certificate 2>log";
  EXPECT_EQ(std::system(command.c_str()), 0) << contentsOf(folder + "/log");
  const SelfSigned made = {contentsOf(folder + "/certificate"),
                           contentsOf(folder + "/key")};
  std::filesystem::remove_all(folder);
  return made;
}

class Tls : public Access {
protected:
  /// The code of a call by a client that trusts and shows certificates.
  StatusCode codeFor(const std::string& trusted, const SelfSigned& shown = {}) {
    stub = inference::GRPCInferenceService::NewStub(
        connect(grpc::SslCredentials({trusted, shown.key, shown.certificate})));
    return inferCode();
  }

  const SelfSigned own = makeCertificate(), other = makeCertificate();
};

TEST_F(Tls, encryptsCalls) {
  GrpcSettings settings;
  settings.tls = {own.certificate, own.key, ""};
  start(settings);
  EXPECT_EQ(codeFor(own.certificate), StatusCode::OK) << last.error_message();
  EXPECT_EQ(codeFor(other.certificate), StatusCode::UNAVAILABLE);
  stub = inference::GRPCInferenceService::NewStub(
      connect(grpc::InsecureChannelCredentials()));
  EXPECT_EQ(inferCode(), StatusCode::UNAVAILABLE);
}

TEST_F(Tls, asksClientsForTheirCertificates) {
  GrpcSettings settings;
  settings.tls = {own.certificate, own.key, other.certificate};
  start(settings);
  EXPECT_EQ(codeFor(own.certificate, other), StatusCode::OK)
      << last.error_message();
  EXPECT_EQ(codeFor(own.certificate), StatusCode::UNAVAILABLE);
  EXPECT_EQ(codeFor(own.certificate, own), StatusCode::UNAVAILABLE);
}

TEST_F(Tls, refusesTextsThatAreNoCertificates) {
  const auto loop = EventLoop::open();
  const auto open = Gate::open({});
  ASSERT_TRUE(loop && open);
  for (const auto& [certificate, key] :
       {SelfSigned{"", own.key}, SelfSigned{own.certificate, "x"},
        SelfSigned{own.certificate, other.key}}) {
    GrpcSettings settings;
    settings.port = 0;
    settings.tls = {certificate, key, ""};
    const auto server =
        GrpcServer::start(settings, **loop, models, store, **open);
    EXPECT_FALSE(server);
  }
}

} // namespace
} // namespace reciperun::server
