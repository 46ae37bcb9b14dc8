// See Front.h.

#include "runtime/server/commands/Front.h"

#include "runtime/base/Log.h"
#include "runtime/comm/ThreadWithoutSignals.h"

#include <csignal>
#include <utility>

namespace reciperun::server {

Expected<std::unique_ptr<Front>> Front::open(FrontSettings settings,
                                             EngineQueue& queue) {
  std::unique_ptr<Front> made(new Front(settings, queue));
  RECIPERUN_TRY(made->setUp(std::move(settings)));
  return made;
}

Status Front::setUp(FrontSettings settings) {
  if (settings.tls) {
    auto opened = TlsContext::open(*std::move(settings.tls));
    RECIPERUN_TRY(opened);
    tls = *std::move(opened);
  }
  auto guard = Gate::open(std::move(settings.gate));
  RECIPERUN_TRY(guard);
  gate = *std::move(guard);
  auto opened = EventLoop::open();
  RECIPERUN_TRY(opened);
  loop = *std::move(opened);
  if (tls || gate->canReload())
    loop->whenSignalled(SIGHUP, [this] { reload(); });
  return Status::ok();
}

/// Goes on with the old files when one of the new ones is invalid.
void Front::reload() {
  for (const Status& read :
       {tls ? tls->reload() : Status::ok(), gate->reload()})
    if (!read.isOk())
      return logLine(LogLevel::error, "SIGHUP: " + read.message() +
                                          "; the files before stay in use");
  logLine(LogLevel::info, "SIGHUP: the files of keys, certificates and the "
                          "access log are those of now");
}

Front::~Front() {
  if (thread.joinable()) {
    queue.setWake({});
    loop->stop();
    thread.join();
  }
  servers.clear(); // before the APIs that their replies refer to
}

Expected<int> Front::listenForOpenAi(const HttpAddress& address) {
  return listen(address, [this](const HttpRequest& request,
                                const std::shared_ptr<HttpReply>& reply) {
    openAi.answer(request, reply);
    noteState();
  });
}

Expected<int> Front::listen(const HttpAddress& address,
                            HttpServer::Handler handler) {
  auto server = HttpServer::listen(*loop, address, limits,
                                   gate->guard(std::move(handler)), tls.get());
  RECIPERUN_TRY(server);
  servers.push_back(*std::move(server));
  return servers.back()->port();
}

void Front::start() {
  queue.setWake([this] { loop->post([this] { takeReport(); }); });
  thread = comm::threadWithoutSignals([this] { loop->run(); });
}

void Front::open(const ApiModel& served) {
  loop->post([this, &served] { openAi.open(served); });
}

void Front::drain() {
  loop->post([this] {
    openAi.drain();
    noteState();
    isDraining = true;
  });
}

void Front::takeReport() {
  engine.takeReport();
  noteState();
}

} // namespace reciperun::server
