// The paths of KServe's API over HTTP, with Triton's extensions.

#ifndef RECIPERUN_SERVER_KSERVE_ROUTES_H
#define RECIPERUN_SERVER_KSERVE_ROUTES_H

#include <optional>
#include <string>
#include <string_view>

namespace reciperun::server {

enum class KServeCall {
  live,
  ready,
  serverMetadata,
  modelReady,
  modelMetadata,
  modelConfig,
  statistics,
  infer,
  generate,
  generateStream,
  repositoryIndex,
  load,
  unload,
  sharedMemoryStatus,
  sharedMemoryRegister,
  sharedMemoryUnregister,
  traceSetting,
  logging
};

/// A path and what it names.
struct KServeRoute {
  KServeCall call = KServeCall::serverMetadata;
  std::string model = {};      // empty: all models
  std::string version = {};    // digits; empty: the greatest that is ready
  std::string repository = {}; // of a load or unload
  std::string region = {};     // of shared memory; empty: all regions
};

/// The route of a decoded path; nothing where there is none.
std::optional<KServeRoute> kserveRouteOf(std::string_view path);

/// Whether a route has an answer to `method`.
bool takesMethod(KServeCall call, std::string_view method);

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_KSERVE_ROUTES_H
