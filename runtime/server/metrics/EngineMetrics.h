// The metrics of an engine, under vLLM's names and those of the TensorRT-LLM
// backend of Triton.

#ifndef RECIPERUN_SERVER_METRICS_ENGINEMETRICS_H
#define RECIPERUN_SERVER_METRICS_ENGINEMETRICS_H

#include "runtime/plan/Plan.h"
#include "runtime/serve/engine/Engine.h"
#include "runtime/server/metrics/RecentTimes.h"

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace prometheus {
class Registry;
}

namespace reciperun::server {

/// What stays constant while an engine runs.
struct EngineFacts {
  std::string model; // `model_name`
  plan::Serving limits = {};
  int64_t cpuBytes = 0, gpuBytes = 0; // planned for rank 0
};

EngineFacts factsOf(const std::string& model, const plan::Plan& plan);

/// Why answers end, by vLLM's names: `stop`, `length`, `abort`, `error`.
enum class AnswerEnd { stop, length, abort, error };
AnswerEnd endOf(serve::FinishReason reason);
const char* nameOf(AnswerEnd end);

/// An answer that has ended. Times are in seconds.
struct AnswerMeasures {
  AnswerEnd end = AnswerEnd::stop;
  int64_t promptTokens = 0, cachedTokens = 0, answerTokens = 0;
  int64_t maxTokens = 0; // that were asked for
  int64_t preemptions = 0;
  double total = 0; // from the arrival
  double queue = 0; // to the first step, or to the end
  /// From the first step to the last token; absent without a step.
  std::optional<double> inference = {};
  /// Times to the first token, and from it to the last one; absent without a
  /// token.
  std::optional<double> prefill = {}, decode = {};
};

/// What the status page shows of an engine.
struct EngineStatus {
  serve::EngineStatistics statistics;
  int64_t promptTokens = 0, answerTokens = 0; // since the start
  std::array<int64_t, 4> answers = {};        // by AnswerEnd
  RecentQuantiles firstToken, interval;
};

class EngineMetrics {
public:
  using Time = std::chrono::steady_clock::time_point;

  /// `registry` must outlive the object.
  EngineMetrics(prometheus::Registry& registry, EngineFacts facts);
  EngineMetrics(const EngineMetrics&) = delete;
  EngineMetrics& operator=(const EngineMetrics&) = delete;
  ~EngineMetrics();

  const EngineFacts& facts() const { return fixed; }

  /// Counts the first token of an answer, `seconds` after the arrival, and the
  /// prompt's tokens.
  void countFirstToken(double seconds, int64_t promptTokens, Time now);
  /// Counts tokens of an answer, the first one included.
  void countTokens(int64_t tokens);
  /// Counts `tokens` intervals between tokens of an answer, which took
  /// `seconds` together.
  void countIntervals(double seconds, int64_t tokens, Time now);
  void countAnswer(const AnswerMeasures& answer);
  /// Counts a request with `n` answers that have all ended; the longest one has
  /// `longest` tokens.
  void countRequest(int64_t n, int64_t longest);

  /// Takes over the engine's state and its counts, which never decrease.
  void take(const serve::EngineStatistics& statistics);

  /// The state at the last take(), with quantiles as of `now`.
  EngineStatus status(Time now) const;

private:
  struct Series;

  EngineFacts fixed;
  std::unique_ptr<Series> series;
  EngineStatus current; // without the quantiles
  RecentTimes firstTokens, intervals;
};

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_METRICS_ENGINEMETRICS_H
