// See GrpcFixture.h.

#include "test/runtime/server/grpc/GrpcFixture.h"

#include <cstring>

namespace reciperun::server {

GrpcFixture::~GrpcFixture() {
  if (!thread.joinable())
    return;
  onLoop([this] { server = nullptr; });
  endLoop();
}

void GrpcFixture::endLoop() {
  loop->stop();
  thread.join();
}

void GrpcFixture::start(GrpcSettings settings, GateSettings access) {
  settings.address = "127.0.0.1";
  settings.port = 0;
  auto opened = EventLoop::open();
  ASSERT_TRUE(opened) << opened.message();
  loop = *std::move(opened);
  auto guard = Gate::open(std::move(access));
  ASSERT_TRUE(guard) << guard.message();
  gate = *std::move(guard);
  auto started =
      GrpcServer::start(std::move(settings), *loop, models, store, *gate);
  ASSERT_TRUE(started) << started.message();
  server = *std::move(started);
  thread = std::thread([this] { loop->run(); });
  stub = inference::GRPCInferenceService::NewStub(
      connect(grpc::InsecureChannelCredentials()));
}

void GrpcFixture::onLoop(const std::function<void()>& work) {
  std::binary_semaphore done{0};
  loop->post([&] {
    work();
    done.release();
  });
  ASSERT_TRUE(done.try_acquire_for(longEnough));
}

std::shared_ptr<Inference> GrpcFixture::takeOpen() {
  const std::shared_ptr<Inference> first = models.open.front();
  models.open.pop_front();
  return first;
}

std::shared_ptr<grpc::Channel>
GrpcFixture::connect(std::shared_ptr<grpc::ChannelCredentials> credentials,
                     const grpc::ChannelArguments& arguments) const {
  grpc::ChannelArguments own = arguments;
  own.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return grpc::CreateCustomChannel(
      "localhost:" + std::to_string(server->port()), credentials, own);
}

inference::ModelInferRequest sumRequest(const std::string& model,
                                        const std::string& id, int32_t addend) {
  inference::ModelInferRequest request;
  request.set_model_name(model);
  request.set_id(id);
  for (const char* name : {"INPUT0", "INPUT1"}) {
    auto& input = *request.add_inputs();
    input.set_name(name);
    input.set_datatype("INT32");
    input.add_shape(1);
    input.add_shape(16);
  }
  for (int32_t i = 0; i < 16; ++i) {
    request.mutable_inputs(0)->mutable_contents()->add_int_contents(i);
    request.mutable_inputs(1)->mutable_contents()->add_int_contents(addend);
  }
  return request;
}

inference::ModelInferRequest repeatRequest(const std::string& id,
                                           const std::vector<int32_t>& values) {
  inference::ModelInferRequest request;
  request.set_model_name("repeat");
  request.set_id(id);
  auto& input = *request.add_inputs();
  input.set_name("IN");
  input.set_datatype("INT32");
  input.add_shape(int64_t(values.size()));
  input.mutable_contents()->mutable_int_contents()->Add(values.begin(),
                                                        values.end());
  return request;
}

std::vector<int32_t> outputOf(const inference::ModelInferResponse& response,
                              int index) {
  if (index >= response.raw_output_contents_size())
    return {};
  const std::string& raw = response.raw_output_contents(index);
  std::vector<int32_t> values(raw.size() / sizeof(int32_t));
  std::memcpy(values.data(), raw.data(), values.size() * sizeof(int32_t));
  return values;
}

void expectFailure(const grpc::Status& status, grpc::StatusCode code,
                   const std::string& message) {
  EXPECT_EQ(status.error_code(), code);
  EXPECT_EQ(status.error_message(), message);
}

} // namespace reciperun::server
