// The server's metrics in Prometheus' text format, under vLLM's names.

#ifndef RECIPERUN_SERVER_FRONT_SERVERMETRICS_H
#define RECIPERUN_SERVER_FRONT_SERVERMETRICS_H

#include "runtime/serve/engine/Engine.h"

#include <cstdint>
#include <memory>
#include <string>

namespace reciperun::server {

/// The times of an answer in seconds, and its sizes in tokens.
struct AnswerMeasures {
  double firstToken = 0; // from the arrival
  double total = 0;
  int64_t promptTokens = 0;
  int64_t answerTokens = 0;
  std::string reason; // `stop`, `length`, `abort`, `error`
};

class ServerMetrics {
public:
  /// `model` is the value of the label `model_name`.
  explicit ServerMetrics(const std::string& model);
  ServerMetrics(const ServerMetrics&) = delete;
  ServerMetrics& operator=(const ServerMetrics&) = delete;
  ~ServerMetrics();

  /// Counts an answer that has ended.
  void count(const AnswerMeasures& answer);
  /// Counts the time in seconds between two tokens of an answer.
  void countInterval(double seconds);
  /// Takes over the engine's counts, which only grow, and its state.
  void take(const serve::EngineStatistics& statistics);

  /// All metrics, in the text format 0.0.4.
  std::string text() const;

private:
  struct Registry;
  std::unique_ptr<Registry> registry;
};

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_FRONT_SERVERMETRICS_H
