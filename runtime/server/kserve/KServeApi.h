// KServe's protocol version 2 over HTTP, with Triton's extensions, as Triton
// serves it: the routes below `/v2`.

#ifndef RECIPERUN_SERVER_KSERVE_KSERVEAPI_H
#define RECIPERUN_SERVER_KSERVE_KSERVEAPI_H

#include "runtime/server/http/HttpServer.h"
#include "runtime/server/kserve/EndpointLoad.h"
#include "runtime/server/kserve/Routes.h"
#include "runtime/server/models/ModelServer.h"
#include "runtime/server/settings/SettingStore.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace reciperun::server {

/// Belongs to the server's thread.
class KServeApi {
public:
  struct Settings {
    std::string name = "recipec"; // of the server, in its metadata
    std::string version;
    /// Of the JSON of a request, and of each tensor in JSON. HttpLimits must
    /// let larger bodies pass, so that clients see this API's refusal.
    size_t maxInputBytes = size_t(64) << 20;
    /// The load of a model's engine, if it has one; may be empty.
    std::function<std::optional<EndpointLoad>(const std::string& model)> loadOf;
  };

  /// `models` and `store` must outlive the object.
  KServeApi(Settings settings, ModelServer& models, SettingStore& store)
      : settings(std::move(settings)), models(models), store(store) {}

  /// Whether a path belongs to this API, with or without a route.
  static bool takes(std::string_view path);

  /// Answers a request of any path.
  void answer(HttpRequest request, const std::shared_ptr<HttpReply>& reply);

private:
  using Reply = std::shared_ptr<HttpReply>;
  struct Call {
    KServeRoute route;
    HttpRequest request;
  };

  void dispatch(Call& call, const Reply& reply);

  void live(const Reply& reply) const;
  void ready(const Reply& reply) const;
  void modelReady(const Call& call, const Reply& reply) const;
  Expected<std::string> modelMetadata(const Call& call) const;
  Expected<std::string> modelConfig(const Call& call) const;
  Expected<std::string> statistics(const Call& call) const;
  Expected<std::string> repositoryIndex(const Call& call) const;
  Expected<std::string> traceSetting(const Call& call);
  Expected<std::string> logging(const Call& call);
  Expected<std::string> sharedMemoryStatus(const Call& call) const;
  Status load(const Call& call, const Reply& reply);
  Status unload(const Call& call, const Reply& reply);
  Status inflate(HttpRequest& request, const Reply& reply) const;
  Status infer(Call& call, const Reply& reply);
  Status generate(const Call& call, const Reply& reply);
  void addLoadHeader(const Call& call, const Reply& reply) const;

  Settings settings;
  ModelServer& models;
  SettingStore& store;
};

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_KSERVE_KSERVEAPI_H
