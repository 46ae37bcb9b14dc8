// Serves the models of FakeModels.h by KServe's protocol until it is killed.
// The argument, if any, is the most bytes of an input.

#include "runtime/server/kserve/KServeApi.h"
#include "test/runtime/server/kserve/FakeModels.h"

#include <cstdio>
#include <cstdlib>

using namespace reciperun::server;

int main(int count, char** arguments) {
  auto loop = EventLoop::open();
  if (!loop)
    return 1;
  FakeModels models(**loop);
  KServeApi::Settings settings;
  settings.version = "0.1";
  settings.loadOf = [](const std::string&) {
    return EndpointLoad{.cacheUtilization = 0.25, .maxTokens = 4096};
  };
  if (count > 1)
    settings.maxInputBytes = size_t(std::atoll(arguments[1]));
  HttpLimits limits;
  limits.bodyBytes = 2 * settings.maxInputBytes + (1 << 20);
  SettingStore store;
  KServeApi api(settings, models, store);
  auto server = HttpServer::listen(
      **loop, {.host = "127.0.0.1", .port = 0}, limits,
      [&api](HttpRequest request, std::shared_ptr<HttpReply> reply) {
        api.answer(std::move(request), reply);
      });
  if (!server) {
    std::fprintf(stderr, "error: %s\n", server.message().c_str());
    return 1;
  }
  std::fprintf(stderr, "served at http://127.0.0.1:%d\n", (*server)->port());
  (*loop)->run();
}
