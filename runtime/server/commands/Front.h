// The front of the server: the thread that listens at its ports, and the APIs
// that answer there.

#ifndef RECIPERUN_SERVER_COMMANDS_FRONT_H
#define RECIPERUN_SERVER_COMMANDS_FRONT_H

#include "runtime/server/access/Gate.h"
#include "runtime/server/front/EngineClient.h"
#include "runtime/server/front/EngineQueue.h"
#include "runtime/server/http/EventLoop.h"
#include "runtime/server/http/HttpServer.h"
#include "runtime/server/openai/OpenAiApi.h"

#include <atomic>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

namespace reciperun::server {

struct FrontSettings {
  OpenAiApi::Settings openAi;
  GateSettings gate;
  HttpLimits limits;           // of each port
  std::optional<TlsFiles> tls; // of all ports
};

class Front {
public:
  /// `queue` must outlive the object. SIGHUP reads the files of keys and
  /// certificates again. Fails when one of them is invalid or the process has
  /// no descriptor left.
  static Expected<std::unique_ptr<Front>> open(FrontSettings settings,
                                               EngineQueue& queue);
  Front(const Front&) = delete;
  Front& operator=(const Front&) = delete;
  ~Front();

  /// Opens a port for the OpenAI API. Must precede start(). Returns its number.
  Expected<int> listenForOpenAi(const HttpAddress& address);
  /// Answers from now on, on a thread of its own.
  void start();

  /// The model is loaded. `served` must outlive the object.
  void open(const ApiModel& served);
  /// Refuses new requests from now on.
  void drain();
  /// Whether new requests are refused.
  bool drains() const { return isDraining; }
  /// Whether new requests are refused and all answers are complete.
  bool isDrained() const { return isDraining && isIdleNow; }

private:
  Front(const FrontSettings& settings, EngineQueue& queue)
      : limits(settings.limits), queue(queue), engine(queue),
        openAi(settings.openAi, engine) {}
  Status setUp(FrontSettings settings);
  void reload();
  Expected<int> listen(const HttpAddress& address, HttpServer::Handler handler);
  void takeReport();
  void noteState() { isIdleNow = engine.openRequests() == 0; }

  HttpLimits limits;
  EngineQueue& queue;
  std::unique_ptr<TlsContext> tls; // null without TLS
  std::unique_ptr<Gate> gate;
  EngineClient engine; // this and the APIs belong to the front's thread
  OpenAiApi openAi;
  std::unique_ptr<EventLoop> loop;
  std::vector<std::unique_ptr<HttpServer>> servers; // one a port
  std::thread thread;
  std::atomic<bool> isIdleNow = true, isDraining = false;
};

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_COMMANDS_FRONT_H
