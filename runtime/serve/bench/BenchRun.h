// Sends requests to a server and records when their tokens come.
//
// Requests arrive at a given rate, with exponentially distributed times between
// them (a Poisson process, as in vLLM's benchmark), or all at the start. At
// most `concurrency` are in progress; a later one is sent when another ends.

#ifndef RECIPERUN_SERVE_BENCH_BENCHRUN_H
#define RECIPERUN_SERVE_BENCH_BENCHRUN_H

#include "runtime/base/Status.h"
#include "runtime/serve/bench/BenchRequests.h"

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

namespace reciperun::serve {

/// The server that is measured.
class BenchTarget {
public:
  /// What a step did for a request.
  struct Event {
    int64_t request = 0; // as `submit` returned
    int64_t tokens = 0;  // that it wrote
    bool isFinished = false;
    std::string error = {}; // of a request that failed
  };

  virtual ~BenchTarget() = default;
  /// Queues a request and returns its id. Fails when it is refused.
  virtual Expected<int64_t> submit(const BenchRequest& request) = 0;
  /// Works until some requests have new tokens. Fails when all of them do.
  virtual Expected<std::vector<Event>> step() = 0;
};

/// The time since some start, in seconds.
class BenchClock {
public:
  virtual ~BenchClock() = default;
  virtual double now() = 0;
  /// Waits until `time` or for a part of that time.
  virtual void waitUntil(double time) = 0;
};

/// The steady clock of the machine.
class SteadyBenchClock : public BenchClock {
public:
  double now() override;
  void waitUntil(double time) override;
};

struct BenchLoad {
  static constexpr int64_t unlimited = std::numeric_limits<int64_t>::max();

  int64_t concurrency = unlimited;
  double requestRate = 0; // a second; 0: all at the start
  uint64_t seed = 0;      // of the times between requests
};

/// The times of one request, in seconds of the run's clock.
struct BenchRecord {
  /// When it arrived, or, where the concurrency had to be waited for, when it
  /// could be sent. Times of the server's steps in between count as latency.
  double start = 0;
  double firstToken = 0;
  double end = 0;
  int64_t inputTokens = 0;
  int64_t outputTokens = 0;
  std::string error; // of a request that failed or was refused
};

struct BenchResult {
  std::vector<BenchRecord> records; // in the order of the requests
  /// The seconds between the tokens of a request and those before them, of all
  /// requests. Tokens that come together have one gap.
  std::vector<float> gaps;
  double seconds = 0; // from the start to the end of the last request
};

/// Sends all requests and returns after the last has ended. Fails when the
/// server does, and when a stop signal has arrived (StopSignal.h).
Expected<BenchResult> runBench(BenchTarget& target, BenchClock& clock,
                               std::span<const BenchRequest> requests,
                               const BenchLoad& load);

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_BENCH_BENCHRUN_H
