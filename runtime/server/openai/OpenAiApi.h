// The routes of the OpenAI API, as vLLM serves them.

#ifndef RECIPERUN_SERVER_OPENAI_OPENAIAPI_H
#define RECIPERUN_SERVER_OPENAI_OPENAIAPI_H

#include "runtime/server/front/ApiModel.h"
#include "runtime/server/front/EngineClient.h"
#include "runtime/server/front/StatusPage.h"
#include "runtime/server/front/WorkerThreads.h"
#include "runtime/server/http/HttpServer.h"
#include "runtime/server/metrics/ServerMetrics.h"
#include "runtime/server/openai/Completions.h"
#include "runtime/server/openai/Embeddings.h"

#include <memory>
#include <optional>
#include <string>

namespace reciperun::server {

/// Whether the server can answer.
enum class ServerState { loading, ready, draining };

/// Belongs to the server's thread.
class OpenAiApi {
public:
  struct Settings {
    std::string version;       // of the program
    size_t mostAnswers = 4096; // open at once
  };

  /// `engine` and `metrics` must outlive the object.
  OpenAiApi(Settings settings, EngineClient& engine, ServerMetrics& metrics)
      : settings(std::move(settings)), engine(engine), metrics(metrics),
        page(metrics) {
    metrics.setReady([this] { return isReady(); });
  }

  /// Bodies that take long to read are read in the background from now on.
  void setBackground(RunInBackground given) { background = std::move(given); }

  /// The model is loaded. `served` must outlive the object.
  void open(const ApiModel& served);
  /// The server has no language model: what needs one is not found.
  void openWithoutModel() { state = ServerState::ready; }
  /// Refuses new requests from now on.
  void drain() { state = ServerState::draining; }
  /// Requests of which another thread reads the bodies.
  size_t openReads() const { return reads; }

  /// Answers a request of any path, which has a header `x-request-id`.
  void answer(const HttpRequest& request,
              const std::shared_ptr<HttpReply>& reply);

private:
  using Reply = std::shared_ptr<HttpReply>;

  struct Route {
    const char* method;
    const char* path;
    void (OpenAiApi::*answer)(const HttpRequest&, const Reply&);
    bool needsModel; // otherwise it is answered while the model loads
  };
  static const Route routes[];

  void health(const HttpRequest&, const Reply& reply);
  void version(const HttpRequest&, const Reply& reply);
  void showMetrics(const HttpRequest&, const Reply& reply);
  void showPage(const HttpRequest&, const Reply& reply);
  void showStatus(const HttpRequest&, const Reply& reply);
  void listModels(const HttpRequest&, const Reply& reply);
  void showModel(const HttpRequest& request, const Reply& reply);
  void chat(const HttpRequest& request, const Reply& reply);
  void complete(const HttpRequest& request, const Reply& reply);
  void embed(const HttpRequest& request, const Reply& reply);
  void showLoad(const HttpRequest&, const Reply& reply);
  void ping(const HttpRequest&, const Reply& reply);
  void tokenize(const HttpRequest& request, const Reply& reply);
  void detokenize(const HttpRequest& request, const Reply& reply);
  void completion(Endpoint endpoint, const HttpRequest& request,
                  const Reply& reply);
  void readInBackground(Endpoint endpoint, const HttpRequest& request,
                        const Reply& reply);
  void takeRead(Expected<CompletionRequest> read, const std::string& id,
                const Reply& reply);
  /// Refuses what is not JSON, and everything while the server stops or after
  /// the engine has failed. Returns whether the request can be answered.
  bool admits(const HttpRequest& request, const Reply& reply) const;
  bool isReady() const {
    return state == ServerState::ready && engine.health().isOk();
  }
  /// `loading`, `ready`, `draining`, `stalled`, `failed`.
  const char* stateName() const;
  static void refuse(int status, const std::string& message,
                     const Reply& reply);

  Settings settings;
  EngineClient& engine;
  ServerState state = ServerState::loading;
  RunInBackground background;
  size_t reads = 0;
  const ApiModel* served = nullptr; // once it is loaded
  ServerMetrics& metrics;
  StatusPage page;
  std::optional<Completions> completions;
  std::optional<Embeddings> embeddings;
};

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_OPENAI_OPENAIAPI_H
