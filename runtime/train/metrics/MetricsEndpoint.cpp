// See MetricsEndpoint.h.

#include "runtime/train/metrics/MetricsEndpoint.h"

#include "runtime/comm/ThreadWithoutSignals.h"
#include "runtime/metrics/MetricFamilies.h"
#include "runtime/server/http/EventLoop.h"
#include "runtime/server/http/HttpServer.h"

#include <utility>

namespace reciperun::train {
namespace {

/// For a few scrapers that ask for one short page.
constexpr server::HttpLimits scraperLimits = {.headerBytes = 16 << 10,
                                              .bodyBytes = 1 << 10,
                                              .totalBytes = 1 << 20,
                                              .connections = 64,
                                              .idleSeconds = 60,
                                              .readSeconds = 10};

void answer(const server::HttpRequest& request, server::HttpReply& reply,
            const MetricsEndpoint::ReadText& read) {
  const char* const plain = "text/plain; charset=utf-8";
  if (request.path != "/metrics")
    return reply.send(404, plain, "the metrics are at /metrics\n");
  if (request.method == "GET" || request.method == "HEAD")
    return reply.send(200, metrics::contentType, read());
  reply.addHeader("Allow", "GET, HEAD");
  reply.send(405, plain, "ask with GET\n");
}

} // namespace

Expected<std::unique_ptr<MetricsEndpoint>>
MetricsEndpoint::open(int port, ReadText read) {
  std::unique_ptr<MetricsEndpoint> made(new MetricsEndpoint);
  Expected<std::unique_ptr<server::EventLoop>> loop = server::EventLoop::open();
  RECIPERUN_TRY(loop);
  made->loop = *std::move(loop);
  Expected<std::unique_ptr<server::HttpServer>> server =
      server::HttpServer::listen(
          *made->loop, {.host = "0.0.0.0", .port = port}, scraperLimits,
          [read = std::move(read)](
              const server::HttpRequest& request,
              const std::shared_ptr<server::HttpReply>& reply) {
            answer(request, *reply, read);
          });
  RECIPERUN_TRY(server);
  made->server = *std::move(server);
  made->thread =
      comm::threadWithoutSignals([loop = made->loop.get()] { loop->run(); });
  return made;
}

MetricsEndpoint::~MetricsEndpoint() {
  if (!thread.joinable())
    return;
  loop->stop();
  thread.join();
}

} // namespace reciperun::train
