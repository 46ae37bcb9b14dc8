// ModelStreamInfer through a client: the order of responses, failures, last
// responses, cancellation, half-close and slow readers.

#include "test/runtime/server/grpc/GrpcFixture.h"

#include <optional>
#include <string>
#include <vector>

namespace reciperun::server {
namespace {

using grpc::StatusCode;
using Response = inference::ModelStreamInferResponse;

class StreamCall : public GrpcFixture {
protected:
  ~StreamCall() override {
    context.TryCancel(); // a stream that a failed test has left open
  }

  void open(bool endsOnError = false) {
    context.set_deadline(std::chrono::system_clock::now() + longEnough);
    if (endsOnError)
      context.AddMetadata("triton_grpc_error", "true");
    stream = stub->ModelStreamInfer(&context);
  }
  void send(const inference::ModelInferRequest& request) {
    ASSERT_TRUE(stream->Write(request));
  }
  /// Fails the test where the stream has ended.
  Response read() {
    Response response;
    EXPECT_TRUE(stream->Read(&response));
    return response;
  }
  /// The next response's id and the first element of its output, `-` where it
  /// has none, and whether it is the last: `a 5`, `a - last`.
  std::string readShort() {
    const Response response = read();
    const auto& answer = response.infer_response();
    const auto values = outputOf(answer);
    const auto& parameters = answer.parameters();
    const auto last = parameters.find("triton_final_response");
    if (last == parameters.end())
      return "no triton_final_response";
    return answer.id() + " " +
           (values.empty() ? "-" : std::to_string(values.front())) +
           (last->second.bool_param() ? " last" : "");
  }
  grpc::Status finish() {
    Response more;
    EXPECT_FALSE(stream->Read(&more)) << more.ShortDebugString();
    return stream->Finish();
  }

  grpc::ClientContext context;
  std::unique_ptr<
      grpc::ClientReaderWriter<inference::ModelInferRequest, Response>>
      stream;
};

TEST_F(StreamCall, answersOneRequestAfterTheOther) {
  start();
  open();
  for (int i = 0; i < 3; ++i) {
    send(sumRequest("simple", std::to_string(i), i));
    const Response response = read();
    EXPECT_EQ(response.error_message(), "");
    EXPECT_EQ(response.infer_response().id(), std::to_string(i));
    EXPECT_EQ(outputOf(response.infer_response()).at(2), i + 2);
    EXPECT_TRUE(response.infer_response()
                    .parameters()
                    .at("triton_final_response")
                    .bool_param());
  }
  stream->WritesDone();
  EXPECT_TRUE(finish().ok());
}

TEST_F(StreamCall, keepsTheOrderOfRequestsOfOtherModels) {
  start();
  open();
  send(sumRequest("held", "first"));
  send(sumRequest("simple", "second"));
  send(sumRequest("none", "third"));
  send(repeatRequest("fourth", {7}));
  // The decoupled one does not wait for the others.
  EXPECT_EQ(readShort(), "fourth 7");
  onLoop([this] { FakeModels::answerSum(*takeOpen()); });
  EXPECT_EQ(readShort(), "first 1 last");
  EXPECT_EQ(readShort(), "second 1 last");
  EXPECT_EQ(readShort(), "third - last");
  stream->WritesDone();
  EXPECT_TRUE(finish().ok());
}

TEST_F(StreamCall, interleavesResponsesOfDecoupledRequests) {
  models.repeatWaits = true;
  start();
  open();
  send(repeatRequest("a", {1, 2}));
  send(repeatRequest("b", {3, 4}));
  for (int i = 0; i < 2; ++i)
    ASSERT_TRUE(models.arrivals.try_acquire_for(longEnough));
  onLoop([this] {
    const auto respond = [this](int request, int32_t value) {
      InferResponse response = {.model = "repeat", .isLast = false};
      response.outputs.push_back(
          {"OUT",
           DataType::int32,
           {1},
           {reinterpret_cast<const char*>(&value), sizeof value}});
      models.open[size_t(request)]->respond(std::move(response));
    };
    respond(0, 1);
    respond(1, 2);
    respond(0, 3);
  });
  EXPECT_EQ(readShort(), "a 1");
  EXPECT_EQ(readShort(), "b 2");
  EXPECT_EQ(readShort(), "a 3");
}

TEST_F(StreamCall, sendsAnEmptyLastResponseWhereItIsWanted) {
  start();
  open();
  auto request = repeatRequest("a", {5, 6});
  send(request);
  EXPECT_EQ(readShort(), "a 5");
  EXPECT_EQ(readShort(), "a 6");
  (*request.mutable_parameters())["triton_enable_empty_final_response"]
      .set_bool_param(true);
  request.set_id("b");
  send(request);
  EXPECT_EQ(readShort(), "b 5");
  EXPECT_EQ(readShort(), "b 6");
  const Response last = read();
  EXPECT_EQ(last.infer_response().id(), "b");
  EXPECT_EQ(last.infer_response().model_name(), "repeat");
  EXPECT_EQ(last.infer_response().outputs_size(), 0);
  EXPECT_TRUE(last.infer_response()
                  .parameters()
                  .at("triton_final_response")
                  .bool_param());
  stream->WritesDone();
  EXPECT_TRUE(finish().ok());
}

TEST_F(StreamCall, reportsAFailureAndGoesOn) {
  start();
  open();
  send(sumRequest("none", "a"));
  const Response unknown = read();
  EXPECT_EQ(unknown.error_message(),
            "Request for unknown model: 'none' is not found");
  EXPECT_EQ(unknown.infer_response().id(), "a");
  send(sumRequest("failing", "b"));
  EXPECT_EQ(read().error_message(), "it broke");
  auto request = sumRequest("simple", "c");
  request.add_raw_input_contents("");
  send(request);
  EXPECT_EQ(read().error_message(),
            "contents field must not be specified when using "
            "raw_input_contents for 'INPUT0' for model 'simple'");
  send(sumRequest("simple", "d"));
  EXPECT_EQ(readShort(), "d 1 last");
  stream->WritesDone();
  EXPECT_TRUE(finish().ok());
}

TEST_F(StreamCall, endsWithAFailureWhereThatIsWanted) {
  start();
  open(/*endsOnError=*/true);
  send(sumRequest("simple", "a"));
  EXPECT_EQ(readShort(), "a 1 last");
  send(sumRequest("held", "b"));
  ASSERT_TRUE(models.arrivals.try_acquire_for(longEnough));
  send(sumRequest("failing", "c"));
  const grpc::Status status = finish();
  EXPECT_EQ(status.error_code(), StatusCode::INTERNAL);
  EXPECT_EQ(status.error_message(), "it broke");
  EXPECT_TRUE(models.cancellations.try_acquire_for(longEnough));
}

TEST_F(StreamCall, endsAfterAllResponsesOnceTheClientSendsNoMore) {
  start();
  open();
  send(sumRequest("held", "a"));
  stream->WritesDone();
  ASSERT_TRUE(models.arrivals.try_acquire_for(longEnough));
  EXPECT_EQ(server->openRequests(), 1u);
  onLoop([this] { FakeModels::answerSum(*takeOpen()); });
  EXPECT_EQ(readShort(), "a 1 last");
  EXPECT_TRUE(finish().ok());
  EXPECT_EQ(server->openRequests(), 0u);
}

TEST_F(StreamCall, endsAStreamWithoutRequests) {
  start();
  open();
  stream->WritesDone();
  EXPECT_TRUE(finish().ok());
}

TEST_F(StreamCall, cancelsAllRequestsOfAClientThatIsGone) {
  models.repeatWaits = true;
  start();
  open();
  send(sumRequest("held", "a"));
  send(repeatRequest("b", {1}));
  send(sumRequest("held", "c"));
  for (int i = 0; i < 3; ++i)
    ASSERT_TRUE(models.arrivals.try_acquire_for(longEnough));
  context.TryCancel();
  for (int i = 0; i < 3; ++i)
    EXPECT_TRUE(models.cancellations.try_acquire_for(longEnough));
  EXPECT_EQ(finish().error_code(), StatusCode::CANCELLED);
  onLoop([] {});
  EXPECT_EQ(server->openRequests(), 0u);
}

TEST_F(StreamCall, readsNoFurtherRequestsWhileTooManyAreOpen) {
  GrpcSettings settings;
  settings.limits.streamRequests = 2;
  start(settings);
  open();
  for (const char* id : {"a", "b", "c"})
    send(sumRequest("held", id));
  for (int i = 0; i < 2; ++i)
    ASSERT_TRUE(models.arrivals.try_acquire_for(longEnough));
  // Another call is answered after what has arrived before it.
  inference::ServerLiveResponse live;
  ASSERT_TRUE(call(&Stub::ServerLive, {}, live).ok());
  EXPECT_FALSE(models.arrivals.try_acquire());
  onLoop([this] { FakeModels::answerSum(*takeOpen()); });
  EXPECT_EQ(readShort(), "a 1 last");
  EXPECT_TRUE(models.arrivals.try_acquire_for(longEnough));
}

TEST_F(StreamCall, endsForAClientThatTakesItsResponsesTooSlowly) {
  GrpcSettings settings;
  settings.limits.streamResponseBytes = size_t(1) << 20;
  start(settings);
  models.repeatBytes = size_t(1) << 18;
  open();
  send(repeatRequest("a", std::vector<int32_t>(64, 1)));
  Response response;
  size_t taken = 0;
  while (stream->Read(&response))
    ++taken;
  EXPECT_LT(taken, 64u);
  const grpc::Status status = stream->Finish();
  EXPECT_EQ(status.error_code(), StatusCode::RESOURCE_EXHAUSTED);
  EXPECT_TRUE(status.error_message().starts_with(
      "the client takes its responses too slowly: "))
      << status.error_message();
}

TEST_F(StreamCall, sendsASingleResponseThatIsLargerThanTheLimit) {
  GrpcSettings settings;
  settings.limits.streamResponseBytes = 1000;
  start(settings);
  models.repeatBytes = 5000;
  open();
  send(repeatRequest("a", {1}));
  EXPECT_EQ(read().infer_response().raw_output_contents(0).size(), 5000u);
  stream->WritesDone();
  EXPECT_TRUE(finish().ok());
}

TEST_F(StreamCall, refusesRequestsWhileItDrains) {
  start();
  open();
  send(sumRequest("held", "a"));
  ASSERT_TRUE(models.arrivals.try_acquire_for(longEnough));
  server->drain();
  send(sumRequest("simple", "b"));
  onLoop([this] { FakeModels::answerSum(*takeOpen()); });
  EXPECT_EQ(readShort(), "a 1 last");
  EXPECT_EQ(read().error_message(),
            "GRPC server is shutting down and has stopped accepting new "
            "requests.");
}

TEST_F(StreamCall, stopsWhileAClientTakesNoResponses) {
  start();
  models.repeatBytes = size_t(1) << 22;
  open();
  send(repeatRequest("a", {1, 2, 3})); // more than flow control lets pass
  send(sumRequest("held", "b"));
  ASSERT_TRUE(models.arrivals.try_acquire_for(longEnough));
  onLoop([this] { server->stop(); });
  EXPECT_TRUE(models.cancellations.try_acquire_for(longEnough));
  Response response;
  while (stream->Read(&response)) {
  }
  EXPECT_FALSE(stream->Finish().ok());
}

} // namespace
} // namespace reciperun::server
