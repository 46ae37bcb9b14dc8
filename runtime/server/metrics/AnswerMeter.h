// Measures one answer of an engine for its metrics.

#ifndef RECIPERUN_SERVER_METRICS_ANSWERMETER_H
#define RECIPERUN_SERVER_METRICS_ANSWERMETER_H

#include "runtime/serve/engine/Engine.h"
#include "runtime/server/metrics/EngineMetrics.h"

#include <chrono>
#include <cstdint>
#include <memory>

namespace reciperun::server {

/// The group of all answers to one prompt of a client's request.
struct AnswerGroup {
  int64_t n = 1;
  int64_t open = 1;    // that have not ended
  int64_t longest = 0; // tokens of those that have
};

/// The client's request that a request of the engine belongs to.
struct RequestOrigin {
  /// When the client's request arrived.
  std::chrono::steady_clock::time_point arrival =
      std::chrono::steady_clock::now();
  /// The group of its answers if the client wants several; null: it wants only
  /// one.
  std::shared_ptr<AnswerGroup> group = {};
};

/// Belongs to the server's thread. Counts an answer once, when it ends.
class AnswerMeter {
public:
  using Time = EngineMetrics::Time;

  static Time now() { return std::chrono::steady_clock::now(); }

  /// `metrics` must outlive the object. `now` is the time of the submission.
  AnswerMeter(EngineMetrics& metrics, const serve::Request& request,
              RequestOrigin origin, Time now);

  /// Records the progress of a step that ended at `stepEnd`. Does nothing after
  /// the end.
  void take(const serve::Progress& progress, Time stepEnd, Time now);
  /// Ends the answer: it is complete, or the client does not need the rest.
  void end(AnswerEnd reason, Time now);

private:
  void takeTokens(int64_t count, Time stepEnd, Time now);

  EngineMetrics& metrics;
  RequestOrigin origin;
  int64_t promptTokens, maxTokens;
  Time submitted;
  serve::RequestCourse course; // so far
  int64_t tokens = 0;
  Time firstToken = {}, lastToken = {}; // ends of their steps
  bool hasBegun = false;                // has a first token
  bool hasEnded = false;
};

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_METRICS_ANSWERMETER_H
