// A front and an engine on two threads: each request gets its own answer or its
// own refusal, cancelled ones end, and a failure reaches the front.

#include "runtime/server/front/EngineQueue.h"
#include "test/runtime/serve/engine/FakeModel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace reciperun::server {
namespace {

using serve::FakeModel;
using serve::FinishReason;
using serve::Progress;

/// What the front has heard of a request.
struct Heard {
  std::vector<int32_t> tokens;
  std::optional<FinishReason> finished;
  std::string refusal;

  bool hasEnded() const { return finished || !refusal.empty(); }
};

/// The front's side: collects report until all tickets have ended.
class Listener {
public:
  explicit Listener(EngineQueue& queue) : queue(queue) {}

  Status waitFor(const std::vector<Ticket>& tickets) {
    while (!std::ranges::all_of(
        tickets, [&](Ticket each) { return heard[each].hasEnded(); })) {
      EngineReport report = queue.takeReport();
      for (EngineUpdate& update : report.updates)
        note(update);
      if (!report.failure.isOk())
        return report.failure;
      std::this_thread::yield();
    }
    return Status::ok();
  }

  std::map<Ticket, Heard> heard;

private:
  void note(const EngineUpdate& update) {
    Heard& each = heard[update.ticket];
    EXPECT_FALSE(each.hasEnded()) << "news of a request that has ended";
    each.refusal = update.refusal.message();
    for (const serve::SampledToken& token : update.progress.tokens)
      each.tokens.push_back(token.id);
    each.finished = update.progress.finished;
  }

  EngineQueue& queue;
};

serve::Request requestFor(std::vector<int32_t> prompt, int64_t tokens) {
  serve::Request request{.prompt = std::move(prompt)};
  request.sampling.temperature = 0;
  request.sampling.maxTokens = tokens;
  return request;
}

TEST(EngineQueue, EachRequestHasItsAnswer) {
  const plan::Serving limits = serve::smallLimits();
  serve::Engine engine(std::make_unique<FakeModel>(limits), limits, {});
  EngineQueue queue;
  std::atomic<int> wakes = 0;
  queue.setWake([&] { ++wakes; });
  std::atomic<bool> isOver = false;
  std::thread front([&] {
    Listener listener(queue);
    std::vector<Ticket> tickets;
    for (int32_t i = 0; i < 200; ++i)
      tickets.push_back(queue.submit(requestFor({i % 50, 3}, 1 + i % 5)));
    const Ticket refused = queue.submit(requestFor({}, 3));
    tickets.push_back(refused);
    ASSERT_TRUE(listener.waitFor(tickets).isOk());
    for (int32_t i = 0; i < 200; ++i)
      EXPECT_EQ(listener.heard[tickets[size_t(i)]].tokens,
                FakeModel::answer({i % 50, 3}, 1 + i % 5));
    EXPECT_NE(listener.heard[refused].refusal.find("no token"),
              std::string::npos)
        << listener.heard[refused].refusal;
    isOver = true;
  });
  EXPECT_TRUE(queue.run(engine, [&] { return isOver.load(); }).isOk());
  front.join();
  EXPECT_GT(wakes, 0);
  EXPECT_EQ(queue.takeReport().statistics.finished, 200);
}

/// A device whose first step waits until it is released.
class HeldFirstStepModel : public FakeModel {
public:
  HeldFirstStepModel(const plan::Serving& limits, std::latch& begun,
                     std::latch& released)
      : FakeModel(limits), begun(begun), released(released) {}
  Status start(const serve::StepPlan& step) override {
    if (!std::exchange(hasBegun, true)) {
      begun.count_down();
      released.wait();
    }
    return FakeModel::start(step);
  }

private:
  std::latch& begun;
  std::latch& released;
  bool hasBegun = false;
};

TEST(EngineQueue, CancelledRequestsEnd) {
  const plan::Serving limits = serve::smallLimits();
  std::latch begun(1), released(1);
  serve::Engine engine(
      std::make_unique<HeldFirstStepModel>(limits, begun, released), limits,
      {});
  EngineQueue queue;
  std::atomic<bool> isOver = false;
  std::thread front([&] {
    Listener listener(queue);
    const Ticket first = queue.submit(requestFor({1, 2}, 8)),
                 second = queue.submit(requestFor({4, 5}, 8));
    begun.wait();
    queue.cancel(first, FinishReason::stopString);
    queue.cancel(12345, FinishReason::cancelled); // no request's
    released.count_down();
    ASSERT_TRUE(listener.waitFor({first, second}).isOk());
    EXPECT_EQ(listener.heard[first].finished, FinishReason::stopString);
    EXPECT_EQ(listener.heard[second].tokens, FakeModel::answer({4, 5}, 8));
    queue.cancel(second, FinishReason::cancelled); // it has ended
    isOver = true;
  });
  EXPECT_TRUE(queue.run(engine, [&] { return isOver.load(); }).isOk());
  front.join();
}

/// A device that fails in the third step.
class FailingModel : public FakeModel {
public:
  using FakeModel::FakeModel;
  Status start(const serve::StepPlan& step) override {
    return ++steps == 3 ? Status::error("the device is lost")
                        : FakeModel::start(step);
  }

private:
  int steps = 0;
};

TEST(EngineQueue, AFailureReachesTheFront) {
  const plan::Serving limits = serve::smallLimits();
  serve::Engine engine(std::make_unique<FailingModel>(limits), limits, {});
  EngineQueue queue;
  const Ticket ticket = queue.submit(requestFor({1, 2}, 8));
  const Status ended = queue.run(engine, [] { return false; });
  EXPECT_NE(ended.message().find("the device is lost"), std::string::npos)
      << ended.message();
  Listener listener(queue);
  EXPECT_EQ(listener.waitFor({ticket}).message(), ended.message());
}

} // namespace
} // namespace reciperun::server
