// Listeners of the engine's requests: one that throws costs the others nothing.

#include "runtime/server/front/EngineClient.h"
#include "test/runtime/serve/engine/FakeModel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <new>
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

} // namespace
} // namespace reciperun::server
