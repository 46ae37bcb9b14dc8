// The calls with one request and one answer, through a client: all of
// GRPCInferenceService but inference, and the health service.

#include "test/runtime/server/grpc/GrpcFixture.h"

#include <string>

namespace reciperun::server {
namespace {

class UnaryMethods : public GrpcFixture {};

using grpc::StatusCode;

inference::ModelReadyRequest readyRequest(const std::string& name,
                                          const std::string& version = "") {
  inference::ModelReadyRequest request;
  request.set_name(name);
  request.set_version(version);
  return request;
}

TEST_F(UnaryMethods, healthOfTheServer) {
  start();
  const auto health = grpc::health::v1::Health::NewStub(
      connect(grpc::InsecureChannelCredentials()));
  for (const bool is : {true, false}) {
    onLoop([&] { models.live = models.ready = is; });
    inference::ServerLiveResponse live;
    EXPECT_TRUE(call(&Stub::ServerLive, {}, live).ok());
    EXPECT_EQ(live.live(), is);
    inference::ServerReadyResponse ready;
    EXPECT_TRUE(call(&Stub::ServerReady, {}, ready).ok());
    EXPECT_EQ(ready.ready(), is);
    grpc::ClientContext context;
    grpc::health::v1::HealthCheckResponse checked;
    EXPECT_TRUE(health->Check(&context, {}, &checked).ok());
    using Response = grpc::health::v1::HealthCheckResponse;
    EXPECT_EQ(checked.status(), is ? Response::SERVING : Response::NOT_SERVING);
  }
}

TEST_F(UnaryMethods, watchingHealthIsNotImplemented) {
  start();
  const auto health = grpc::health::v1::Health::NewStub(
      connect(grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  const auto reader = health->Watch(&context, {});
  grpc::health::v1::HealthCheckResponse response;
  EXPECT_FALSE(reader->Read(&response));
  EXPECT_EQ(reader->Finish().error_code(), StatusCode::UNIMPLEMENTED);
}

TEST_F(UnaryMethods, modelReady) {
  start();
  inference::ModelReadyResponse response;
  EXPECT_TRUE(
      call(&Stub::ModelReady, readyRequest("simple", "1"), response).ok());
  EXPECT_TRUE(response.ready());
  expectFailure(call(&Stub::ModelReady, readyRequest("none"), response),
                StatusCode::NOT_FOUND,
                "Request for unknown model: 'none' is not found");
  expectFailure(call(&Stub::ModelReady, readyRequest("simple", "9"), response),
                StatusCode::NOT_FOUND,
                "Request for unknown model: 'simple' version 9 is not found");
  expectFailure(call(&Stub::ModelReady, readyRequest("simple", "-9"), response),
                StatusCode::INVALID_ARGUMENT,
                "invalid model version specified '-9' , version should be an "
                "integral value > 0");
}

TEST_F(UnaryMethods, metadata) {
  GrpcSettings settings;
  settings.serverName = "triton";
  settings.serverVersion = "1.2.3";
  start(settings);
  inference::ServerMetadataResponse server;
  ASSERT_TRUE(call(&Stub::ServerMetadata, {}, server).ok());
  EXPECT_EQ(server.name(), "triton");
  EXPECT_EQ(server.version(), "1.2.3");
  EXPECT_EQ(server.extensions_size(), 13);
  EXPECT_EQ(server.extensions(8), "binary_tensor_data");

  inference::ModelMetadataRequest request;
  request.set_name("simple");
  inference::ModelMetadataResponse model;
  ASSERT_TRUE(call(&Stub::ModelMetadata, request, model).ok());
  EXPECT_EQ(model.name(), "simple");
  EXPECT_EQ(model.versions(0), "1");
  EXPECT_EQ(model.platform(), "fake");
  ASSERT_EQ(model.inputs_size(), 2);
  EXPECT_EQ(model.inputs(0).name(), "INPUT0");
  EXPECT_EQ(model.inputs(0).datatype(), "INT32");
  EXPECT_EQ(model.inputs(0).shape(0), -1);
  EXPECT_EQ(model.inputs(0).shape(1), 16);
  EXPECT_EQ(model.outputs(1).name(), "OUTPUT1");
}

TEST_F(UnaryMethods, modelConfig) {
  start();
  inference::ModelConfigRequest request;
  request.set_name("simple");
  inference::ModelConfigResponse response;
  ASSERT_TRUE(call(&Stub::ModelConfig, request, response).ok());
  EXPECT_EQ(response.config().max_batch_size(), 8);
  request.set_name("none");
  EXPECT_EQ(call(&Stub::ModelConfig, request, response).error_code(),
            StatusCode::NOT_FOUND);
}

TEST_F(UnaryMethods, statistics) {
  start();
  inference::ModelStatisticsRequest request;
  inference::ModelStatisticsResponse response;
  ASSERT_TRUE(call(&Stub::ModelStatistics, request, response).ok());
  ASSERT_EQ(response.model_stats_size(), 1);
  const auto& model = response.model_stats(0);
  EXPECT_EQ(model.name(), "simple");
  EXPECT_EQ(model.version(), "1");
  EXPECT_EQ(model.last_inference(), 17u);
  EXPECT_EQ(model.inference_count(), 12u);
  EXPECT_EQ(model.execution_count(), 2u);
  EXPECT_EQ(model.inference_stats().success().count(), 12u);
  EXPECT_EQ(model.inference_stats().success().ns(), 1200u);
  EXPECT_EQ(model.inference_stats().fail().count(), 1u);
  EXPECT_EQ(model.inference_stats().queue().ns(), 300u);
  EXPECT_EQ(model.inference_stats().cache_hit().count(), 0u);
  ASSERT_EQ(model.batch_stats_size(), 1);
  EXPECT_EQ(model.batch_stats(0).batch_size(), 8u);
  EXPECT_EQ(model.batch_stats(0).compute_infer().count(), 2u);
  EXPECT_EQ(model.response_stats().at("3").empty_response().count(), 4u);
  request.set_name("none");
  EXPECT_EQ(call(&Stub::ModelStatistics, request, response).error_code(),
            StatusCode::NOT_FOUND);
}

TEST_F(UnaryMethods, repositoryIndex) {
  start();
  inference::RepositoryIndexRequest request;
  inference::RepositoryIndexResponse all, ready;
  ASSERT_TRUE(call(&Stub::RepositoryIndex, request, all).ok());
  ASSERT_EQ(all.models_size(), 2);
  EXPECT_EQ(all.models(1).name(), "broken");
  EXPECT_EQ(all.models(1).version(), "2");
  EXPECT_EQ(all.models(1).state(), "UNAVAILABLE");
  EXPECT_EQ(all.models(1).reason(), "no file");
  request.set_ready(true);
  ASSERT_TRUE(call(&Stub::RepositoryIndex, request, ready).ok());
  EXPECT_EQ(ready.models_size(), 1);
  request.set_repository_name("x");
  expectFailure(call(&Stub::RepositoryIndex, request, ready),
                StatusCode::UNIMPLEMENTED,
                "'repository_name' specification is not supported");
}

TEST_F(UnaryMethods, load) {
  start();
  inference::RepositoryModelLoadRequest request;
  inference::RepositoryModelLoadResponse response;
  request.set_model_name("simple");
  auto& parameters = *request.mutable_parameters();
  parameters["config"].set_string_param("{}");
  parameters["file:1/x"].set_bytes_param(std::string("a\0b", 3));
  ASSERT_TRUE(call(&Stub::RepositoryModelLoad, request, response).ok());
  EXPECT_EQ(models.overrides.config, "{}");
  EXPECT_EQ(models.overrides.files.at("1/x"), std::string("a\0b", 3));

  parameters["file:1/x"].set_string_param("a");
  expectFailure(call(&Stub::RepositoryModelLoad, request, response),
                StatusCode::INVALID_ARGUMENT,
                "invalid value type for load parameter 'file:1/x', expected "
                "bytes_param.");
  parameters.erase("file:1/x");
  parameters["config"].set_bool_param(true);
  expectFailure(call(&Stub::RepositoryModelLoad, request, response),
                StatusCode::INVALID_ARGUMENT,
                "invalid value type for load parameter 'config', expected "
                "string_param.");
  parameters.clear();
  parameters["other"].set_bool_param(true);
  expectFailure(call(&Stub::RepositoryModelLoad, request, response),
                StatusCode::INVALID_ARGUMENT,
                "unrecognized load parameter 'other'.");
  parameters.clear();
  request.set_model_name("none");
  expectFailure(call(&Stub::RepositoryModelLoad, request, response),
                StatusCode::INTERNAL,
                "failed to load 'none', failed to poll from model repository");
  request.set_repository_name("x");
  expectFailure(call(&Stub::RepositoryModelLoad, request, response),
                StatusCode::UNIMPLEMENTED,
                "'repository_name' specification is not supported");
}

TEST_F(UnaryMethods, unload) {
  start();
  inference::RepositoryModelUnloadRequest request;
  inference::RepositoryModelUnloadResponse response;
  request.set_model_name("simple");
  ASSERT_TRUE(call(&Stub::RepositoryModelUnload, request, response).ok());
  EXPECT_EQ(models.unloaded, "simple");
  auto& dependents = (*request.mutable_parameters())["unload_dependents"];
  dependents.set_bool_param(true);
  ASSERT_TRUE(call(&Stub::RepositoryModelUnload, request, response).ok());
  EXPECT_EQ(models.unloaded, "simple+");
  dependents.set_int64_param(1);
  expectFailure(call(&Stub::RepositoryModelUnload, request, response),
                StatusCode::INVALID_ARGUMENT,
                "invalid value type for 'unload_dependents' parameter, "
                "expected bool_param.");
  request.set_repository_name("x");
  EXPECT_EQ(call(&Stub::RepositoryModelUnload, request, response).error_code(),
            StatusCode::UNIMPLEMENTED);
}

TEST_F(UnaryMethods, sharedMemoryIsDisabled) {
  start();
  const std::string disabled =
      "Client shared memory is disabled. Start the server with "
      "'--allow-client-shm=true' to enable.";
  inference::SystemSharedMemoryStatusResponse system;
  EXPECT_TRUE(call(&Stub::SystemSharedMemoryStatus, {}, system).ok());
  EXPECT_EQ(system.regions_size(), 0);
  inference::SystemSharedMemoryStatusRequest named;
  named.set_name("r");
  expectFailure(call(&Stub::SystemSharedMemoryStatus, named, system),
                StatusCode::NOT_FOUND,
                "Unable to find system shared memory region: 'r'");
  inference::SystemSharedMemoryRegisterResponse registered;
  expectFailure(call(&Stub::SystemSharedMemoryRegister, {}, registered),
                StatusCode::UNIMPLEMENTED, disabled);
  inference::SystemSharedMemoryUnregisterResponse unregistered;
  expectFailure(call(&Stub::SystemSharedMemoryUnregister, {}, unregistered),
                StatusCode::UNIMPLEMENTED, disabled);

  inference::CudaSharedMemoryStatusResponse cuda;
  EXPECT_TRUE(call(&Stub::CudaSharedMemoryStatus, {}, cuda).ok());
  inference::CudaSharedMemoryStatusRequest namedCuda;
  namedCuda.set_name("r");
  expectFailure(call(&Stub::CudaSharedMemoryStatus, namedCuda, cuda),
                StatusCode::NOT_FOUND,
                "Unable to find cuda shared memory region: 'r'");
  inference::CudaSharedMemoryRegisterResponse cudaRegistered;
  expectFailure(call(&Stub::CudaSharedMemoryRegister, {}, cudaRegistered),
                StatusCode::UNIMPLEMENTED, disabled);
  inference::CudaSharedMemoryUnregisterResponse cudaUnregistered;
  expectFailure(call(&Stub::CudaSharedMemoryUnregister, {}, cudaUnregistered),
                StatusCode::UNIMPLEMENTED, disabled);
}

TEST_F(UnaryMethods, traceSettings) {
  start();
  inference::TraceSettingRequest request;
  inference::TraceSettingResponse response;
  (*request.mutable_settings())["trace_rate"].add_value("5");
  ASSERT_TRUE(call(&Stub::TraceSetting, request, response).ok());
  EXPECT_EQ(response.settings().at("trace_rate").value(0), "5");
  EXPECT_EQ(store.traces.of("").at("trace_rate").front(), "5");
  EXPECT_EQ(response.settings().at("trace_level").value(0), "OFF");
  request.clear_settings();
  request.set_model_name("simple");
  ASSERT_TRUE(call(&Stub::TraceSetting, request, response).ok());
  EXPECT_EQ(response.settings().at("trace_rate").value(0), "5");
  (*request.mutable_settings())["trace_rate"].add_value("x");
  expectFailure(call(&Stub::TraceSetting, request, response),
                StatusCode::INVALID_ARGUMENT,
                "Unable to parse 'trace_rate', got: x");
  request.set_model_name("none");
  EXPECT_EQ(call(&Stub::TraceSetting, request, response).error_code(),
            StatusCode::NOT_FOUND);
}

TEST_F(UnaryMethods, logSettings) {
  start();
  inference::LogSettingsRequest request;
  inference::LogSettingsResponse response;
  (*request.mutable_settings())["log_verbose_level"].set_uint32_param(2);
  ASSERT_TRUE(call(&Stub::LogSettings, request, response).ok());
  EXPECT_EQ(response.settings().at("log_verbose_level").uint32_param(), 2u);
  EXPECT_TRUE(response.settings().at("log_info").bool_param());
  EXPECT_EQ(response.settings().at("log_format").string_param(), "default");
  EXPECT_TRUE(logs(LogLevel::debug));
  setLogLevel(LogLevel::info);
}

TEST_F(UnaryMethods, refusesLogSettingsWithoutAChange) {
  start();
  const auto refuse = [&](const char* name, auto set, StatusCode code,
                          const char* message) {
    inference::LogSettingsRequest request;
    inference::LogSettingsResponse response;
    (*request.mutable_settings())["log_error"].set_bool_param(false);
    set((*request.mutable_settings())[name]);
    expectFailure(call(&Stub::LogSettings, request, response), code, message);
  };
  const auto setNumber = [](auto& value) { value.set_uint32_param(1); };
  const auto setText = [](auto& value) { value.set_string_param("loud"); };
  const auto setNothing = [](auto&) {};
  refuse("log_file", setText, StatusCode::UNIMPLEMENTED,
         "log file location can not be updated through network protocol");
  refuse("log_info", setNumber, StatusCode::INVALID_ARGUMENT,
         "expect boolean for 'log_info'");
  refuse("log_verbose_level", setText, StatusCode::INVALID_ARGUMENT,
         "expect int32 for 'log_verbose_level'");
  refuse("log_format", setNothing, StatusCode::INVALID_ARGUMENT,
         "expect string for 'log_format'");
  refuse("log_format", setText, StatusCode::INVALID_ARGUMENT,
         "invalid argument for log_format, got: loud");
  EXPECT_TRUE(store.log.settings().hasErrors);
}

} // namespace
} // namespace reciperun::server
