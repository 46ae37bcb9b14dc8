// A version of a model in service.

#ifndef RECIPERUN_SERVER_REPOSITORY_SERVEDVERSION_H
#define RECIPERUN_SERVER_REPOSITORY_SERVEDVERSION_H

#include "runtime/server/models/Classification.h"
#include "runtime/server/models/Inference.h"
#include "runtime/server/models/ModelStatistics.h"
#include "runtime/server/repository/ResponseCache.h"
#include "runtime/server/schedule/EnsembleGraph.h"
#include "runtime/server/schedule/Scheduler.h"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace reciperun::server {

/// Belongs to the server's thread. Has to live until its requests have ended:
/// they hold it.
class ServedVersion : public std::enable_shared_from_this<ServedVersion> {
public:
  /// Makes the scheduler, which counts in the version's statistics.
  using MakeScheduler =
      std::function<std::unique_ptr<Scheduler>(ModelStatistics&)>;

  /// `cache` keeps the responses; null: they are not kept. `observer` hears of
  /// each request, unless it is null.
  ServedVersion(SharedConfig config, int64_t version,
                const MakeScheduler& makeScheduler, ResponseCache* cache,
                InferenceObserver* observer);

  /// Starts a request that has come to this version. All of its failures arrive
  /// as its response.
  std::shared_ptr<Inference> infer(InferRequest request,
                                   Inference::Respond respond);

  const SharedConfig& config() const { return given; }
  int64_t version() const { return number; }
  const ModelStatistics& statistics() const { return counts; }
  /// Why it cannot answer requests at this time; ok where it can.
  Status health() const { return scheduler->health(); }
  void setLoadTime(double seconds) { counts.loadSeconds = seconds; }
  void setLabels(ClassLabels given) { labels = std::move(given); }

  /// Requests that have not ended.
  size_t openRequests() const { return open; }
  /// `then` runs once when no request is open, maybe at once.
  void whenIdle(std::function<void()> then);

private:
  using Clock = std::chrono::steady_clock;

  /// What is known of a request when its responses come.
  struct Progress {
    Clock::time_point begin;
    uint64_t responses = 0;        // so far
    std::string cacheKey;          // empty: not kept
    std::set<std::string> outputs; // to send
  };

  std::set<std::string> outputsOf(const InferRequest& request) const;
  Inference::Respond withClasses(std::vector<RequestedOutput> wanted,
                                 Inference::Respond respond);
  bool answerFromCache(Inference& inference, Progress& progress);
  void take(InferResponse& response, Progress& progress);
  void countResponse(const InferResponse& response, const Progress& progress);
  void countEnd(const InferResponse& response, const Progress& progress);

  SharedConfig given;
  int64_t number;
  ModelStatistics counts;
  ResponseCache* cache;
  bool isDecoupled;
  ClassLabels labels;
  size_t open = 0;
  std::function<void()> onIdle;
  std::unique_ptr<Scheduler> scheduler;
};

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_REPOSITORY_SERVEDVERSION_H
