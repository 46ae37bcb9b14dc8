// The front of the server: the thread that listens at its ports, and the APIs
// that answer there.

#ifndef RECIPERUN_SERVER_COMMANDS_FRONT_H
#define RECIPERUN_SERVER_COMMANDS_FRONT_H

#include "runtime/server/access/Gate.h"
#include "runtime/server/commands/Shutdown.h"
#include "runtime/server/front/EngineClient.h"
#include "runtime/server/front/EngineQueue.h"
#include "runtime/server/front/WorkerThreads.h"
#include "runtime/server/grpc/GrpcServer.h"
#include "runtime/server/http/EventLoop.h"
#include "runtime/server/http/HttpServer.h"
#include "runtime/server/kserve/KServeApi.h"
#include "runtime/server/metrics/ServerMetrics.h"
#include "runtime/server/openai/OpenAiApi.h"
#include "runtime/server/repository/ModelSource.h"
#include "runtime/server/repository/Repository.h"
#include "runtime/server/settings/SettingStore.h"

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

namespace reciperun::server {

struct FrontSettings {
  OpenAiApi::Settings openAi;
  MetricsConfig metrics;
  Repository::Settings repository;
  bool endsOnFailedLoad = true; // of a model at the start
  ShutdownSettings shutdown;
  std::chrono::seconds stall{3}; // of a step, until the server is not ready
  GateSettings gate;
  HttpLimits limits;           // of each HTTP port
  std::optional<TlsFiles> tls; // of all ports
  /// Of calls of gRPC, by Triton's names of APIs.
  std::map<std::string, GrpcRestriction> grpcRestricted;
};

class Front {
public:
  /// `queue` and `source` must outlive the object. SIGHUP and SIGUSR2
  /// read the files of keys and certificates again. Fails when one of them is
  /// invalid or the process has no descriptor left.
  static Expected<std::unique_ptr<Front>>
  open(FrontSettings settings, EngineQueue& queue, ModelSource& source);
  Front(const Front&) = delete;
  Front& operator=(const Front&) = delete;
  ~Front();

  /// Opens a port for all APIs. Must precede start(). Returns its number.
  Expected<int> listen(const HttpAddress& address);
  /// Opens a port for OpenAI's API alone.
  Expected<int> listenForOpenAi(const HttpAddress& address);
  /// Opens a port for the metrics alone.
  Expected<int> listenForMetrics(const HttpAddress& address);
  /// Opens a port for KServe's protocol over gRPC.
  Expected<int> listenForGrpc(const HttpAddress& address);
  /// Answers from now on, on a thread of its own.
  void start();

  /// Loads the models of the source. `served`, the model of the engine, must
  /// outlive the object; null: there is no engine. `whenReady` runs on the
  /// front's thread once the models are served.
  void open(const ApiModel* served, std::function<void()> whenReady);
  /// When the server is to stop, and why.
  const Shutdown& shutdown() const { return *ending; }

private:
  Front(const FrontSettings& settings, EngineQueue& queue, ModelSource& source)
      : version(settings.openAi.version), limits(settings.limits),
        tlsFiles(settings.tls), grpcRestricted(settings.grpcRestricted),
        endsOnFailedLoad(settings.endsOnFailedLoad), queue(queue),
        source(source), metrics(settings.metrics), engine(queue),
        openAi(settings.openAi, engine, metrics) {
    engine.setStallTime(settings.stall);
  }
  Status setUp(FrontSettings settings);
  void reload();
  Expected<int> listen(const HttpAddress& address, HttpServer::Handler handler);
  void answer(const HttpRequest& request,
              const std::shared_ptr<HttpReply>& reply);
  bool takeStart(const Status& outcome);
  std::optional<EndpointLoad> engineLoad() const;
  void drain();
  bool isIdle() const;

  std::string version;
  HttpLimits limits;
  std::optional<TlsFiles> tlsFiles;
  std::map<std::string, GrpcRestriction> grpcRestricted;
  bool endsOnFailedLoad;
  EngineQueue& queue;
  ModelSource& source;
  int64_t pageTokens = 0;          // of the engine's cache
  std::unique_ptr<TlsContext> tls; // null without TLS
  std::unique_ptr<Gate> gate;
  // These and the APIs belong to the front's thread.
  ServerMetrics metrics;
  EngineClient engine;
  OpenAiApi openAi;
  std::unique_ptr<EventLoop> loop;
  std::optional<WorkerThreads> readers; // of bodies that take long
  std::unique_ptr<Repository> repository;
  SettingStore store;
  std::optional<KServeApi> kserve;
  std::vector<std::unique_ptr<HttpServer>> servers; // one a port
  std::unique_ptr<GrpcServer> grpc;                 // null without a port
  std::optional<Shutdown> ending;
  std::thread thread;
};

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_COMMANDS_FRONT_H
