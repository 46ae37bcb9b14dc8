// See Front.h.

#include "runtime/server/commands/Front.h"

#include "runtime/comm/ThreadWithoutSignals.h"

#include <utility>

namespace reciperun::server {

Expected<std::unique_ptr<Front>> Front::open(OpenAiApi::Settings settings,
                                             EngineQueue& queue) {
  std::unique_ptr<Front> made(new Front(std::move(settings), queue));
  auto loop = EventLoop::open();
  RECIPERUN_TRY(loop);
  made->loop = *std::move(loop);
  return made;
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
  return listen(address, [this](HttpRequest request,
                                const std::shared_ptr<HttpReply>& reply) {
    openAi.answer(std::move(request), reply);
    noteState();
  });
}

Expected<int> Front::listen(const HttpAddress& address,
                            HttpServer::Handler handler) {
  auto server = HttpServer::listen(*loop, address, {}, std::move(handler));
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
