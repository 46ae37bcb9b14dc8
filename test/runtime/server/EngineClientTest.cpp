// Listeners of the engine's requests: one that throws costs the others nothing.

#include "runtime/server/front/EngineClient.h"
#include "test/runtime/serve/engine/FakeModel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <latch>
#include <memory>
#include <new>
#include <string>
#include <thread>

namespace reciperun::server {
namespace {

using serve::FakeModel;

serve::Request shortRequest(int32_t first) {
  serve::Request request{.prompt = {first, 3}};
  request.sampling.temperature = 0;
  request.sampling.maxTokens = 4;
  return request;
}

TEST(EngineClient, AListenerThatThrowsHearsNoMore) {
  const plan::Serving limits = serve::smallLimits();
  serve::Engine engine(std::make_unique<FakeModel>(limits), limits, {});
  EngineQueue queue;
  std::atomic<bool> isOver = false;
  std::thread front([&] {
    EngineClient client(queue);
    int heard = 0, ended = 0;
    client.submit(shortRequest(1), [&](const EngineUpdate&) {
      ++heard;
      throw std::bad_alloc();
    });
    for (int32_t i = 2; i < 5; ++i)
      client.submit(shortRequest(i), [&](const EngineUpdate& update) {
        ended += update.progress.finished ? 1 : 0;
      });
    while (client.openRequests() > 0) {
      client.takeReport();
      std::this_thread::yield();
    }
    EXPECT_EQ(heard, 1);
    EXPECT_EQ(ended, 3);
    isOver = true;
  });
  EXPECT_TRUE(queue.run(engine, [&] { return isOver.load(); }).isOk());
  front.join();
}

TEST(EngineClient, AnEngineThatIsGivenUpEndsItsRequestsOnce) {
  EngineQueue queue; // whose engine never takes a request
  EngineClient client(queue);
  std::string error;
  int heard = 0;
  client.submit(shortRequest(1), [&](const EngineUpdate& update) {
    ++heard;
    error = update.progress.error;
    EXPECT_EQ(update.progress.finished, serve::FinishReason::failed);
  });
  EXPECT_TRUE(client.health().isOk());
  client.fail(Status::error("a rank is lost"));
  client.fail(Status::error("another reason"));
  EXPECT_EQ(heard, 1);
  EXPECT_EQ(error, "a rank is lost");
  EXPECT_EQ(client.openRequests(), 0u);
  EXPECT_EQ(client.health().message(), "a rank is lost");
}

/// A model whose step ends when it is told to.
class HeldModel : public FakeModel {
public:
  HeldModel(const plan::Serving& limits, std::latch& isHeld, std::latch& mayEnd)
      : FakeModel(limits), isHeld(isHeld), mayEnd(mayEnd) {}

  Status start(const serve::StepPlan& step) override {
    if (!isHeld.try_wait())
      isHeld.count_down();
    mayEnd.wait();
    return FakeModel::start(step);
  }

private:
  std::latch &isHeld, &mayEnd;
};

TEST(EngineClient, AnEngineIsNotHealthyWhileAStepDoesNotEnd) {
  using namespace std::chrono_literals;
  const plan::Serving limits = serve::smallLimits();
  std::latch isHeld(1), mayEnd(1);
  serve::Engine engine(std::make_unique<HeldModel>(limits, isHeld, mayEnd),
                       limits, {});
  EngineQueue queue;
  std::atomic<bool> isOver = false;
  std::thread front([&] {
    EngineClient client(queue);
    client.setStallTime(10ms);
    EXPECT_EQ(queue.stepTime(), 0s);
    client.submit(shortRequest(1), [](const EngineUpdate&) {});
    isHeld.wait();
    std::this_thread::sleep_for(20ms);
    EXPECT_EQ(client.health().code(), StatusCode::unavailable);
    mayEnd.count_down();
    while (client.openRequests() > 0) {
      client.takeReport();
      std::this_thread::yield();
    }
    EXPECT_TRUE(client.failure().isOk());
    isOver = true;
  });
  EXPECT_TRUE(queue.run(engine, [&] { return isOver.load(); }).isOk());
  front.join();
}

} // namespace
} // namespace reciperun::server
