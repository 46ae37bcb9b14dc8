// Sends requests to a server and records when their tokens arrive.
//
// Requests arrive at a given rate, with exponentially distributed intervals (a
// Poisson process, as in vLLM's benchmark), or all at the start. At most
// `concurrency` are in progress; further ones wait until one ends.

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
  /// What a step of the server did for a request.
  struct Event {
    int64_t request = 0; // as `submit` returned
    int64_t tokens = 0;  // new ones
    bool isFinished = false;
    std::string error = {}; // of a request that failed
  };

  virtual ~BenchTarget() = default;
  /// Queues a request and returns its id. Fails when it is refused.
  virtual Expected<int64_t> submit(const BenchRequest& request) = 0;
  /// Runs until some requests have new tokens. Fails when the server fails.
  virtual Expected<std::vector<Event>> step() = 0;
};

/// The time since an arbitrary start, in seconds.
class BenchClock {
public:
  virtual ~BenchClock() = default;
  virtual double now() = 0;
  /// Waits until `time`, or returns earlier.
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
  uint64_t seed = 0;      // for the intervals between requests
};

/// The times of one request, in seconds of the run's clock.
struct BenchRecord {
  /// When the request arrived or, if it had to wait because of `concurrency`,
  /// when it could be sent. A wait for the end of the server's step counts as
  /// latency.
  double start = 0;
  double firstToken = 0;
  double end = 0;
  int64_t inputTokens = 0;
  int64_t outputTokens = 0;
  std::string error; // of a request that failed or was refused
};

struct BenchResult {
  std::vector<BenchRecord> records; // in the order of the requests
  /// The intervals between successive tokens of a request, in seconds, for all
  /// requests. Tokens that arrive together count as one interval.
  std::vector<float> gaps;
  double seconds = 0; // from the start to the end of the last request
};

/// Sends all requests and returns after the last has ended. Fails when the
/// server fails, and when a stop signal has arrived (StopSignal.h).
Expected<BenchResult> runBench(BenchTarget& target, BenchClock& clock,
                               std::span<const BenchRequest> requests,
                               const BenchLoad& load);

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_BENCH_BENCHRUN_H
