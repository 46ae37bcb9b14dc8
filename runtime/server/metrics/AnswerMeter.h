// Measures one answer of an engine for its metrics.

#ifndef RECIPERUN_SERVER_METRICS_ANSWERMETER_H
#define RECIPERUN_SERVER_METRICS_ANSWERMETER_H

#include "runtime/serve/engine/Engine.h"
#include "runtime/server/metrics/EngineMetrics.h"

#include <chrono>
#include <cstdint>
#include <memory>

namespace reciperun::server {

/// The answers to one prompt of a client's request.
struct AnswerGroup {
  int64_t n = 1;
  int64_t open = 1;    // that have not ended
  int64_t longest = 0; // tokens of those that have
};

/// Where a request of the engine comes from.
struct RequestOrigin {
  /// Of the client's request.
  std::chrono::steady_clock::time_point arrival =
      std::chrono::steady_clock::now();
  /// Of a client that wants several answers; null: it wants this one.
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

  /// Takes what a step that ended at `stepEnd` did. Nothing counts after the
  /// end.
  void take(const serve::Progress& progress, Time stepEnd, Time now);
  /// The client needs no more of the answer, or none follows.
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
