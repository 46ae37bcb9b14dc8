// Serves the fake models over gRPC, for clients in other languages.
//
//   grpcServer
//
// It listens to a free port of this machine, prints `port N`, and ends at
// SIGTERM or SIGINT.

#include "runtime/server/access/Gate.h"
#include "runtime/server/grpc/GrpcServer.h"
#include "runtime/server/http/EventLoop.h"
#include "runtime/server/settings/SettingStore.h"
#include "test/runtime/server/grpc/FakeModels.h"

#include <csignal>
#include <cstdio>
#include <string>
#include <thread>
#include <utility>

using namespace reciperun::server;

namespace {

sigset_t stopSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  return signals;
}

int fail(const std::string& message) {
  std::fprintf(stderr, "error: %s\n", message.c_str());
  return 1;
}

} // namespace

int main() {
  const sigset_t signals = stopSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  FakeModels models;
  SettingStore store;
  const auto loop = EventLoop::open();
  if (!loop)
    return fail(loop.message());
  const auto gate = Gate::open({});
  if (!gate)
    return fail(gate.message());
  GrpcSettings settings;
  settings.address = "127.0.0.1";
  settings.port = 0;
  settings.serverName = "fake";
  settings.serverVersion = "1";
  const auto server =
      GrpcServer::start(std::move(settings), **loop, models, store, **gate);
  if (!server)
    return fail(server.message());
  std::printf("port %d\n", int((*server)->port()));
  std::fflush(stdout);

  std::thread thread([&] { (*loop)->run(); });
  int signal = 0;
  sigwait(&signals, &signal);
  (*server)->drain();
  (*loop)->post([&] { (*server)->stop(); });
  (*loop)->stop();
  thread.join();
}
