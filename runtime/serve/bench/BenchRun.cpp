// Until all requests have ended: 1. send those that have arrived; 2. run a
// step, or wait for the next arrival; 3. record the step's events.

#include "runtime/serve/bench/BenchRun.h"

#include "runtime/base/StopSignal.h"
#include "runtime/data/Random.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>
#include <unordered_map>

namespace reciperun::serve {
namespace {

/// The arrivals of `count` requests, in seconds from the start, ascending.
std::vector<double> arrivalTimes(size_t count, const BenchLoad& load) {
  std::vector<double> times(count);
  if (load.requestRate == 0)
    return times;
  data::Random random({load.seed});
  constexpr uint64_t steps = uint64_t(1) << 53;
  for (size_t i = 1; i < count; ++i) {
    const double uniform = double(random.below(steps) + 1) / double(steps);
    times[i] = times[i - 1] - std::log(uniform) / load.requestRate;
  }
  return times;
}

class BenchLoop {
public:
  BenchLoop(BenchTarget& target, BenchClock& clock,
            std::span<const BenchRequest> requests, const BenchLoad& load)
      : target(target), clock(clock), requests(requests),
        concurrency(load.concurrency),
        arrivals(arrivalTimes(requests.size(), load)) {}

  Expected<BenchResult> run() {
    begin = canSendSince = clock.now();
    takeMemory();
    while (next < requests.size() || !open.empty()) {
      RECIPERUN_TRY(checkStopSignal());
      sendArrived();
      if (!open.empty())
        RECIPERUN_TRY(step());
      else if (next < requests.size())
        clock.waitUntil(begin + arrivals[next]);
    }
    for (const BenchRecord& record : result.records)
      result.seconds = std::max(result.seconds, record.end - begin);
    return std::move(result);
  }

private:
  /// Allocates the results before the run, so that memory growth during the run
  /// is due to the server.
  void takeMemory() {
    constexpr int64_t mostGaps = int64_t(1) << 26;
    result.records.resize(requests.size());
    int64_t tokens = 0;
    for (const BenchRequest& request : requests)
      tokens += std::clamp<int64_t>(request.outputTokens, 0, mostGaps);
    result.gaps.resize(size_t(std::min(tokens, mostGaps)));
    result.gaps.clear();
  }

  /// A request in progress.
  struct Open {
    size_t index;
    double lastToken = 0;
  };

  bool isFull() const { return int64_t(open.size()) >= concurrency; }

  void sendArrived() {
    const double now = clock.now();
    while (next < requests.size() && !isFull() &&
           begin + arrivals[next] <= now) {
      BenchRecord& record = result.records[next];
      record.start = std::max(begin + arrivals[next], canSendSince);
      record.inputTokens = int64_t(requests[next].prompt.size());
      const Expected<int64_t> id = target.submit(requests[next]);
      if (id) {
        open.emplace(*id, Open{next});
      } else {
        record.error = id.message();
        record.end = now;
      }
      ++next;
    }
  }

  Status step() {
    const Expected<std::vector<BenchTarget::Event>> events = target.step();
    RECIPERUN_TRY(events);
    const double now = clock.now();
    for (const BenchTarget::Event& event : *events)
      if (const auto found = open.find(event.request); found != open.end())
        take(event, found->second, now);
    return Status::ok();
  }

  void take(const BenchTarget::Event& event, Open& request, double now) {
    BenchRecord& record = result.records[request.index];
    if (event.tokens > 0) {
      if (record.outputTokens == 0)
        record.firstToken = now;
      else
        result.gaps.push_back(float(now - request.lastToken));
      request.lastToken = now;
      record.outputTokens += event.tokens;
    }
    if (!event.isFinished)
      return;
    record.end = now;
    record.error = event.error;
    if (record.error.empty() && record.outputTokens == 0)
      record.error = "the server ended the request without a token";
    if (isFull())
      canSendSince = now;
    open.erase(event.request);
  }

  BenchTarget& target;
  BenchClock& clock;
  std::span<const BenchRequest> requests;
  int64_t concurrency;
  std::vector<double> arrivals;
  double begin = 0;
  double canSendSince = 0; // since then fewer than `concurrency` are open
  size_t next = 0;         // the first request that is not sent
  std::unordered_map<int64_t, Open> open;
  BenchResult result;
};

} // namespace

double SteadyBenchClock::now() {
  const auto time = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(time).count();
}

void SteadyBenchClock::waitUntil(double time) {
  // Sleeps only briefly, so that a stop signal ends the run soon.
  constexpr double longest = 0.1;
  const double left = std::min(time - now(), longest);
  if (left > 0)
    std::this_thread::sleep_for(std::chrono::duration<double>(left));
}

Expected<BenchResult> runBench(BenchTarget& target, BenchClock& clock,
                               std::span<const BenchRequest> requests,
                               const BenchLoad& load) {
  return BenchLoop(target, clock, requests, load).run();
}

} // namespace reciperun::serve
