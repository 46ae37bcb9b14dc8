// The measurement with a virtual clock and a server whose steps take a fixed
// time: every recorded time is known.

#include "runtime/serve/bench/BenchRun.h"

#include "runtime/serve/bench/BenchStatistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace reciperun::serve {
namespace {

class VirtualClock : public BenchClock {
public:
  double now() override { return time; }
  void waitUntil(double until) override {
    ++waits;
    time = std::max(time, until);
  }

  double time = 1000; // not 0, as with the clock of a machine
  int waits = 0;
};

/// Each step takes a second and gives each request one token.
class StepServer : public BenchTarget {
public:
  explicit StepServer(VirtualClock& clock) : clock(clock) {}

  Expected<int64_t> submit(const BenchRequest& request) override {
    if (request.prompt.size() > longest)
      return Status::error("the prompt is too long");
    left[nextId] = request.outputTokens;
    most = std::max(most, left.size());
    return nextId++;
  }
  Expected<std::vector<Event>> step() override {
    if (left.empty())
      return Status::error("a step without a request");
    clock.time += 1;
    std::vector<Event> events;
    for (auto each = left.begin(); each != left.end();) {
      const int64_t tokens = std::min(each->second, tokensPerStep);
      each->second -= tokens;
      events.push_back({each->first, tokens, each->second == 0});
      each = each->second == 0 ? left.erase(each) : std::next(each);
    }
    return events;
  }

  VirtualClock& clock;
  std::map<int64_t, int64_t> left; // tokens of each request
  int64_t nextId = 7;
  int64_t tokensPerStep = 1;
  size_t longest = 100;
  size_t most = 0; // requests at once
};

std::vector<BenchRequest> requestsOf(const std::vector<int64_t>& lengths) {
  std::vector<BenchRequest> requests;
  for (int64_t length : lengths)
    requests.push_back({{1, 2, 3}, length});
  return requests;
}

BenchResult resultOf(StepServer& server,
                     const std::vector<BenchRequest>& requests,
                     const BenchLoad& load) {
  const auto result = runBench(server, server.clock, requests, load);
  EXPECT_TRUE(result) << result.message();
  return result ? *result : BenchResult();
}

TEST(BenchRun, RecordsFirstAndLastTokens) {
  VirtualClock clock;
  StepServer server(clock);
  const BenchResult result = resultOf(server, requestsOf({1, 4}), {});
  ASSERT_EQ(result.records.size(), 2u);
  EXPECT_EQ(result.records[0].start, 1000);
  EXPECT_EQ(result.records[0].firstToken, 1001);
  EXPECT_EQ(result.records[0].end, 1001);
  EXPECT_EQ(result.records[1].end, 1004);
  EXPECT_EQ(result.records[1].inputTokens, 3);
  EXPECT_EQ(result.records[1].outputTokens, 4);
  EXPECT_EQ(result.gaps, (std::vector<float>{1, 1, 1}));
  EXPECT_EQ(result.seconds, 4);
}

TEST(BenchRun, TokensThatComeTogetherHaveOneGap) {
  VirtualClock clock;
  StepServer server(clock);
  server.tokensPerStep = 3;
  const BenchResult result = resultOf(server, requestsOf({7}), {});
  EXPECT_EQ(result.records[0].outputTokens, 7);
  EXPECT_EQ(result.records[0].firstToken, 1001);
  EXPECT_EQ(result.gaps, (std::vector<float>{1, 1}));
}

TEST(BenchRun, KeepsTheConcurrency) {
  VirtualClock clock;
  StepServer server(clock);
  const BenchResult result =
      resultOf(server, requestsOf({2, 2, 3, 1}), {.concurrency = 2});
  EXPECT_EQ(server.most, 2u);
  // A request that waits for another starts when that one ends.
  EXPECT_EQ(result.records[1].start, 1000);
  EXPECT_EQ(result.records[2].start, 1002);
  EXPECT_EQ(result.records[3].start, 1002);
  EXPECT_EQ(result.records[2].end, 1005);
  EXPECT_EQ(result.seconds, 5);
}

TEST(BenchRun, SendsRequestsAtTheirRate) {
  VirtualClock clock;
  StepServer server(clock);
  const int64_t count = 4000;
  const BenchResult result =
      resultOf(server, requestsOf(std::vector<int64_t>(count, 1)),
               {.requestRate = 0.25, .seed = 4});
  std::vector<double> gaps;
  for (size_t i = 1; i < result.records.size(); ++i)
    gaps.push_back(result.records[i].start - result.records[i - 1].start);
  const BenchSummary summary = summarize(gaps);
  // The mean of 4000 exponential times of 4 s has a deviation of 0.063 s; their
  // median is 4 ln 2. Five deviations are allowed.
  EXPECT_NEAR(summary.average, 4, 0.32);
  EXPECT_NEAR(summary.p50, 4 * 0.6931, 0.32);
  EXPECT_GT(clock.waits, 0);
  // A request that arrives within a step waits for its end, and that counts.
  for (const BenchRecord& record : result.records) {
    EXPECT_GE(record.firstToken - record.start, 1);
    EXPECT_LT(record.firstToken - record.start, 2 + 1e-9);
  }
}

TEST(BenchRun, TheSeedDecidesTheArrivals) {
  auto startsOf = [](uint64_t seed) {
    VirtualClock clock;
    StepServer server(clock);
    std::vector<double> starts;
    for (const BenchRecord& record : resultOf(server, requestsOf({1, 1, 1, 1}),
                                              {.requestRate = 1, .seed = seed})
                                         .records)
      starts.push_back(record.start);
    return starts;
  };
  EXPECT_EQ(startsOf(1), startsOf(1));
  EXPECT_NE(startsOf(1), startsOf(2));
}

TEST(BenchRun, ARefusedRequestDoesNotStopTheOthers) {
  VirtualClock clock;
  StepServer server(clock);
  server.longest = 2;
  std::vector<BenchRequest> requests = requestsOf({1, 1});
  requests[1].prompt = {5};
  const BenchResult result = resultOf(server, requests, {});
  EXPECT_EQ(result.records[0].error, "the prompt is too long");
  EXPECT_EQ(result.records[1].error, "");
  EXPECT_EQ(result.records[1].outputTokens, 1);
}

TEST(BenchRun, AFailureOfTheServerEndsTheRun) {
  class BrokenServer : public BenchTarget {
    Expected<int64_t> submit(const BenchRequest&) override { return 1; }
    Expected<std::vector<Event>> step() override {
      return Status::error("the device is lost");
    }
  } server;
  VirtualClock clock;
  EXPECT_EQ(runBench(server, clock, requestsOf({1}), {}).message(),
            "the device is lost");
}

} // namespace
} // namespace reciperun::serve
