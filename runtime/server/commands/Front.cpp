// See Front.h.

#include "runtime/server/commands/Front.h"

#include "runtime/base/Log.h"
#include "runtime/comm/ThreadWithoutSignals.h"

#include <csignal>
#include <fstream>
#include <sstream>
#include <utility>

namespace reciperun::server {
namespace {

/// The text of a PEM file; empty without a path.
Expected<std::string> readPem(const std::string& path) {
  if (path.empty())
    return std::string();
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file)
    return Status::error("`" + path + "` cannot be read");
  return text.str();
}

/// gRPC takes the texts of the files that HTTP's OpenSSL reads by itself.
Expected<GrpcTls> readGrpcTls(const TlsFiles& files) {
  const auto certificate = readPem(files.certificate);
  RECIPERUN_TRY(certificate);
  const auto key = files.key.empty() ? certificate : readPem(files.key);
  RECIPERUN_TRY(key);
  const auto authorities = readPem(files.clientAuthorities);
  RECIPERUN_TRY(authorities);
  return GrpcTls{.certificate = *certificate,
                 .key = *key,
                 .clientAuthorities = *authorities};
}

} // namespace

Expected<std::unique_ptr<Front>>
Front::open(FrontSettings settings, EngineQueue& queue, ModelSource& source) {
  std::unique_ptr<Front> made(new Front(settings, queue, source));
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
  readers.emplace(/*count=*/1);
  openAi.setBackground(
      [this](std::function<void()> work, std::function<void()> then) {
        readers->run(std::move(work), *loop, std::move(then));
      });
  settings.repository.observer = &metrics.observer();
  repository = std::make_unique<Repository>(*loop, source,
                                            std::move(settings.repository));
  metrics.setModels([this] { return *repository->statistics("", -1); });
  metrics.setReady(
      [this] { return repository->isReady() && engine.health().isOk(); });
  kserve.emplace(
      KServeApi::Settings{
          .version = settings.openAi.version,
          .maxInputBytes = settings.limits.bodyBytes,
          .loadOf = [this](const std::string&) { return engineLoad(); }},
      *repository, store);
  ending.emplace(
      settings.shutdown, *loop, queue,
      Shutdown::Actions{
          .drain = [this] { drain(); },
          .isIdle = [this] { return isIdle(); },
          .failEngine = [this](const Status& why) { engine.fail(why); }});
  if (tls || gate->canReload())
    for (const int signal : {SIGHUP, SIGUSR2})
      loop->whenSignalled(signal, [this] { reload(); });
  return Status::ok();
}

/// Keeps the old files in use when one of the new ones is invalid.
void Front::reload() {
  for (const Status& read :
       {tls ? tls->reload() : Status::ok(), gate->reload()})
    if (!read.isOk())
      return logLine(LogLevel::error, "reload: " + read.message() +
                                          "; the files before stay in use");
  logLine(LogLevel::info, "reload: the files of keys, certificates and the "
                          "access log are those of now");
}

Front::~Front() {
  if (thread.joinable()) {
    queue.setWake({});
    loop->stop();
    thread.join();
  }
  readers.reset();
  // Before the APIs that their replies refer to.
  servers.clear();
  grpc.reset();
}

Expected<int> Front::listen(const HttpAddress& address) {
  return listen(address, [this](const HttpRequest& request,
                                const std::shared_ptr<HttpReply>& reply) {
    answer(request, reply);
  });
}

Expected<int> Front::listenForOpenAi(const HttpAddress& address) {
  return listen(address, [this](const HttpRequest& request,
                                const std::shared_ptr<HttpReply>& reply) {
    openAi.answer(request, reply);
  });
}

Expected<int> Front::listenForMetrics(const HttpAddress& address) {
  return listen(address, [this](const HttpRequest& request,
                                const std::shared_ptr<HttpReply>& reply) {
    if (request.path == "/metrics")
      openAi.answer(request, reply);
    else
      reply->send(404, "text/plain", "only /metrics is here\n");
  });
}

Expected<int> Front::listenForGrpc(const HttpAddress& address) {
  GrpcSettings settings;
  settings.address = address.host;
  settings.port = uint16_t(address.port);
  settings.serverVersion = version;
  settings.restricted = grpcRestricted;
  if (tlsFiles) {
    auto read = readGrpcTls(*tlsFiles);
    RECIPERUN_TRY(read);
    settings.tls = *std::move(read);
  }
  auto server =
      GrpcServer::start(std::move(settings), *loop, *repository, store, *gate);
  RECIPERUN_TRY(server);
  grpc = *std::move(server);
  return grpc->port();
}

Expected<int> Front::listen(const HttpAddress& address,
                            HttpServer::Handler handler) {
  auto server = HttpServer::listen(*loop, address, limits,
                                   gate->guard(std::move(handler)), tls.get());
  RECIPERUN_TRY(server);
  servers.push_back(*std::move(server));
  return servers.back()->port();
}

void Front::answer(const HttpRequest& request,
                   const std::shared_ptr<HttpReply>& reply) {
  if (KServeApi::takes(request.path))
    kserve->answer(request, reply);
  else
    openAi.answer(request, reply);
}

void Front::start() {
  queue.setWake([this] { loop->post([this] { engine.takeReport(); }); });
  ending->begin();
  thread = comm::threadWithoutSignals([this] { loop->run(); });
}

void Front::open(const ApiModel* served, std::function<void()> whenReady) {
  loop->post([this, served, whenReady = std::move(whenReady)] {
    if (served) {
      openAi.open(*served);
      pageTokens = served->limits().page;
      source.setEngine({.client = engine, .model = *served});
    } else {
      openAi.openWithoutModel();
    }
    repository->start([this, whenReady](const Status& outcome) {
      if (takeStart(outcome))
        whenReady();
    });
  });
}

/// Whether the server continues after the models of the start have been loaded.
bool Front::takeStart(const Status& outcome) {
  if (outcome.isOk())
    return true;
  logLine(LogLevel::error, outcome.message());
  if (!endsOnFailedLoad)
    return true;
  ending->fail(Status::error("not all models could be loaded; "
                             "`--exit-on-error=false` serves the others"));
  return false;
}

/// The engine's load as gateways see it.
std::optional<EndpointLoad> Front::engineLoad() const {
  const serve::EngineStatistics& counts = engine.statistics();
  if (counts.pages == 0)
    return std::nullopt;
  return EndpointLoad{.cacheUtilization =
                          double(counts.heldPages) / double(counts.pages),
                      .maxTokens = uint64_t(counts.pages * pageTokens)};
}

/// Refuses new requests from now on.
void Front::drain() {
  openAi.drain();
  repository->stop();
  if (grpc)
    grpc->drain();
}

/// Whether all answers are complete.
bool Front::isIdle() const {
  return engine.openRequests() == 0 && openAi.openReads() == 0 &&
         repository->openRequests() == 0 &&
         (!grpc || grpc->openRequests() == 0);
}

} // namespace reciperun::server
