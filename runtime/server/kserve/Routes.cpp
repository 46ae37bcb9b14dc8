// A path is split at its slashes; each family of routes then looks at the
// parts. `/v2/models/stats` precedes a model named `stats`, as in Triton.

#include "runtime/server/kserve/Routes.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>
#include <vector>

namespace reciperun::server {
namespace {

using Parts = std::span<const std::string_view>;
using MaybeRoute = std::optional<KServeRoute>;

/// The parts of a path that follow each slash. A part is empty only if the path
/// has two slashes in a row or ends with one.
std::vector<std::string_view> partsOf(std::string_view path) {
  std::vector<std::string_view> parts;
  while (path.starts_with('/')) {
    path.remove_prefix(1);
    const std::string_view part = path.substr(0, path.find('/'));
    parts.push_back(part);
    path.remove_prefix(part.size());
  }
  return parts;
}

bool isNumber(std::string_view text) {
  return !text.empty() &&
         std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

bool isName(std::string_view text) {
  return !text.empty();
}

struct NamedCall {
  std::string_view name;
  KServeCall call;
};

MaybeRoute routeNamed(std::span<const NamedCall> calls, std::string_view name) {
  for (const NamedCall& each : calls)
    if (each.name == name)
      return KServeRoute{.call = each.call};
  return std::nullopt;
}

/// The calls after `/v2/models/NAME` and an optional version.
constexpr std::array<NamedCall, 6> modelCalls = {
    {{"ready", KServeCall::modelReady},
     {"config", KServeCall::modelConfig},
     {"stats", KServeCall::statistics},
     {"infer", KServeCall::infer},
     {"generate", KServeCall::generate},
     {"generate_stream", KServeCall::generateStream}}};

MaybeRoute routeBehindModel(Parts parts, bool hasVersion) {
  if (parts.empty())
    return KServeRoute{.call = KServeCall::modelMetadata};
  if (parts.size() == 1)
    return routeNamed(modelCalls, parts[0]);
  const bool isTrace = parts.size() == 2 && parts[0] == "trace" &&
                       parts[1] == "setting" && !hasVersion;
  return isTrace ? MaybeRoute({.call = KServeCall::traceSetting})
                 : std::nullopt;
}

/// The route of a path below `/v2/models`.
MaybeRoute modelRoute(Parts parts) {
  if (parts.empty() || !isName(parts[0]))
    return std::nullopt;
  if (parts.size() == 1 && parts[0] == "stats")
    return KServeRoute{.call = KServeCall::statistics};
  const bool hasVersion =
      parts.size() > 2 && parts[1] == "versions" && isNumber(parts[2]);
  MaybeRoute route =
      routeBehindModel(parts.subspan(hasVersion ? 3 : 1), hasVersion);
  if (!route)
    return std::nullopt;
  route->model = parts[0];
  if (hasVersion)
    route->version = parts[2];
  return route;
}

/// Behind `/v2/repository`: `[REPOSITORY/]index` or
/// `[REPOSITORY/]models/NAME/ACTION`.
MaybeRoute repositoryRoute(Parts parts) {
  static constexpr std::array<NamedCall, 2> actions = {
      {{"load", KServeCall::load}, {"unload", KServeCall::unload}}};
  const bool hasRepository = parts.size() == 2 || parts.size() == 4;
  const Parts rest = parts.subspan(hasRepository ? 1 : 0);
  MaybeRoute route;
  if (rest.size() == 1 && rest[0] == "index")
    route = KServeRoute{.call = KServeCall::repositoryIndex};
  if (rest.size() == 3 && rest[0] == "models" && isName(rest[1]))
    route = routeNamed(actions, rest[2]);
  if (!route || (hasRepository && !isName(parts[0])))
    return std::nullopt;
  if (hasRepository)
    route->repository = parts[0];
  if (rest.size() == 3)
    route->model = rest[1];
  return route;
}

/// Behind `/v2/systemsharedmemory`, and the same for CUDA's: `[region/NAME/]
/// ACTION`.
MaybeRoute sharedMemoryRoute(Parts parts) {
  static constexpr std::array<NamedCall, 3> actions = {
      {{"status", KServeCall::sharedMemoryStatus},
       {"register", KServeCall::sharedMemoryRegister},
       {"unregister", KServeCall::sharedMemoryUnregister}}};
  const bool hasRegion =
      parts.size() == 3 && parts[0] == "region" && isName(parts[1]);
  if (parts.size() != 1 && !hasRegion)
    return std::nullopt;
  MaybeRoute route = routeNamed(actions, parts.back());
  if (route && hasRegion)
    route->region = parts[1];
  return route;
}

MaybeRoute healthRoute(Parts parts) {
  static constexpr std::array<NamedCall, 2> checks = {
      {{"live", KServeCall::live}, {"ready", KServeCall::ready}}};
  return parts.size() == 1 ? routeNamed(checks, parts[0]) : std::nullopt;
}

MaybeRoute traceRoute(Parts parts) {
  const bool isSetting = parts.size() == 1 && parts[0] == "setting";
  return isSetting ? MaybeRoute({.call = KServeCall::traceSetting})
                   : std::nullopt;
}

MaybeRoute loggingRoute(Parts parts) {
  return parts.empty() ? MaybeRoute({.call = KServeCall::logging})
                       : std::nullopt;
}

struct Family {
  std::string_view name;
  MaybeRoute (*route)(Parts parts);
};

constexpr std::array<Family, 7> families = {
    {{"models", modelRoute},
     {"health", healthRoute},
     {"repository", repositoryRoute},
     {"systemsharedmemory", sharedMemoryRoute},
     {"cudasharedmemory", sharedMemoryRoute},
     {"trace", traceRoute},
     {"logging", loggingRoute}}};

struct CallRow {
  KServeCall call;
  std::string_view methods;
};

/// In the order of KServeCall.
constexpr std::array<CallRow, 18> callRows = {
    {{KServeCall::live, "GET"},
     {KServeCall::ready, "GET"},
     {KServeCall::serverMetadata, "GET"},
     {KServeCall::modelReady, "GET"},
     {KServeCall::modelMetadata, "GET"},
     {KServeCall::modelConfig, "GET"},
     {KServeCall::statistics, "GET"},
     {KServeCall::infer, "POST"},
     {KServeCall::generate, "POST"},
     {KServeCall::generateStream, "POST"},
     {KServeCall::repositoryIndex, "POST"},
     {KServeCall::load, "POST"},
     {KServeCall::unload, "POST"},
     {KServeCall::sharedMemoryStatus, "GET"},
     {KServeCall::sharedMemoryRegister, "POST"},
     {KServeCall::sharedMemoryUnregister, "POST"},
     {KServeCall::traceSetting, "GET POST"},
     {KServeCall::logging, "GET POST"}}};

constexpr bool isInOrder() {
  for (size_t i = 0; i < callRows.size(); ++i)
    if (size_t(callRows[i].call) != i)
      return false;
  return callRows.size() == size_t(KServeCall::logging) + 1;
}
static_assert(isInOrder());

} // namespace

std::optional<KServeRoute> kserveRouteOf(std::string_view path) {
  const std::vector<std::string_view> parts = partsOf(path);
  if (parts.empty() || parts[0] != "v2")
    return std::nullopt;
  if (parts.size() == 1)
    return KServeRoute{.call = KServeCall::serverMetadata};
  for (const Family& each : families)
    if (each.name == parts[1])
      return each.route(Parts(parts).subspan(2));
  return std::nullopt;
}

bool takesMethod(KServeCall call, std::string_view method) {
  const std::string_view methods = callRows[size_t(call)].methods;
  return method == methods || (method == "GET" && methods == "GET POST") ||
         (method == "POST" && methods == "GET POST");
}

} // namespace reciperun::server
