// Serves the metrics of a run over HTTP, at /metrics of one port.
//
// A thread of its own handles all connections by an event loop: a client that
// reads slowly or sends nothing holds up neither a step nor another client, and
// is disconnected after some seconds.

#ifndef RECIPERUN_TRAIN_METRICS_METRICSENDPOINT_H
#define RECIPERUN_TRAIN_METRICS_METRICSENDPOINT_H

#include "runtime/base/Status.h"

#include <functional>
#include <memory>
#include <string>
#include <thread>

namespace reciperun::server {
class EventLoop;
class HttpServer;
} // namespace reciperun::server

namespace reciperun::train {

class MetricsEndpoint {
public:
  /// Creates the text of the metrics, on the thread of the endpoint.
  using ReadText = std::function<std::string()>;

  /// Listens at the port on every address of the host. Fails when the port is
  /// in use.
  static Expected<std::unique_ptr<MetricsEndpoint>> open(int port,
                                                         ReadText read);
  MetricsEndpoint(const MetricsEndpoint&) = delete;
  MetricsEndpoint& operator=(const MetricsEndpoint&) = delete;
  ~MetricsEndpoint();

private:
  MetricsEndpoint() = default;

  std::unique_ptr<server::EventLoop> loop;
  std::unique_ptr<server::HttpServer> server; // of the loop
  std::thread thread;
};

} // namespace reciperun::train

#endif // RECIPERUN_TRAIN_METRICS_METRICSENDPOINT_H
