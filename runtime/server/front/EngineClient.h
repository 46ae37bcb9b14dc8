// The engine as the server's thread sees it. Each request has a listener for
// its updates and is measured for the metrics.

#ifndef RECIPERUN_SERVER_FRONT_ENGINECLIENT_H
#define RECIPERUN_SERVER_FRONT_ENGINECLIENT_H

#include "runtime/base/Status.h"
#include "runtime/server/front/EngineQueue.h"
#include "runtime/server/metrics/AnswerMeter.h"

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>

namespace reciperun::server {

/// Belongs to the server's thread.
class EngineClient {
public:
  /// Receives the updates of a request. The last one is a refusal or a progress
  /// with `finished`; after a failure of the engine it is a progress with
  /// FinishReason::failed.
  using Listener = std::function<void(EngineUpdate)>;

  /// `queue` must outlive the object.
  explicit EngineClient(EngineQueue& queue) : queue(queue) {}

  /// Measures the requests from now on. `given` must outlive the object.
  void setMetrics(EngineMetrics& given) { metrics = &given; }
  /// The engine is not healthy while a step takes longer than this.
  void setStallTime(std::chrono::steady_clock::duration given) {
    stallTime = given;
  }

  Ticket submit(serve::Request request, Listener listener,
                RequestOrigin origin = {});
  /// Ends a request. Its listener still receives the last update, but the
  /// metrics count it as ended now. Does nothing when it has ended.
  void cancel(Ticket ticket, serve::FinishReason reason);

  /// Passes the engine's report on to the listeners.
  void takeReport();

  /// Gives up the engine: ends all requests as if the engine had failed, and
  /// refuses later ones. Does nothing after a failure.
  void fail(const Status& failure);

  /// The statistics of the last report.
  const serve::EngineStatistics& statistics() const { return counts; }
  /// Why the engine has stopped; ok while it runs.
  const Status& failure() const { return broken; }
  /// The engine's failure, or an error if a step takes too long, for example
  /// because a rank hangs; otherwise ok.
  Status health() const;
  /// Requests that have not ended.
  size_t openRequests() const { return open.size(); }

private:
  struct Open {
    Listener listener;
    std::optional<AnswerMeter> meter;
  };

  void tellSafely(EngineUpdate update);
  void tell(EngineUpdate update);
  void failAll();

  EngineQueue& queue;
  EngineMetrics* metrics = nullptr;
  std::chrono::steady_clock::duration stallTime =
      std::chrono::steady_clock::duration::max();
  std::map<Ticket, Open> open;
  serve::EngineStatistics counts;
  Status broken;
};

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_FRONT_ENGINECLIENT_H
