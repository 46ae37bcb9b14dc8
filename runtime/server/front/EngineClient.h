// The engine as the server's thread sees it: each request has a listener for
// its own updates, and is measured for the metrics.

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
  /// Hears of a request until it has ended: a refusal or a progress with
  /// `finished` is the last update. After a failure of the engine the last one
  /// is a progress with FinishReason::failed.
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
  /// Ends a request; its listener still hears of the end. For the metrics it
  /// ends now. Does nothing when it has ended.
  void cancel(Ticket ticket, serve::FinishReason reason);

  /// Passes what the engine has done to the listeners.
  void takeReport();

  /// Gives the engine up: ends all requests as a failure of the engine does,
  /// and refuses later ones. Does nothing after a failure.
  void fail(const Status& failure);

  /// Of the last report.
  const serve::EngineStatistics& statistics() const { return counts; }
  /// Why the engine has stopped; ok while it runs.
  const Status& failure() const { return broken; }
  /// The failure, or that a step takes too long, as it does when a rank hangs.
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
