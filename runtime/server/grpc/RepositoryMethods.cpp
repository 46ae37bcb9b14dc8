// Calls about the repository and about shared memory; see UnaryMethods.h.

#include "runtime/server/grpc/UnaryMethods.h"
#include "runtime/server/models/ModelServer.h"

#include <string>
#include <string_view>
#include <utility>

namespace reciperun::server {
namespace {

Status invalidLoad(std::string message) {
  return Status::error(std::move(message), StatusCode::invalidArgument);
}

Status checkRepository(const std::string& name) {
  return name.empty()
             ? Status::ok()
             : Status::error("'repository_name' specification is not supported",
                             StatusCode::unsupported);
}

Expected<LoadOverrides>
readOverrides(const inference::RepositoryModelLoadRequest& request) {
  constexpr std::string_view filePrefix = "file:";
  LoadOverrides overrides;
  for (const auto& [name, value] : request.parameters()) {
    const bool isFile = name.starts_with(filePrefix);
    if (!isFile && name != "config")
      return invalidLoad("unrecognized load parameter '" + name + "'.");
    if (isFile ? !value.has_bytes_param() : !value.has_string_param())
      return invalidLoad("invalid value type for load parameter '" + name +
                         "', expected " + (isFile ? "bytes" : "string") +
                         "_param.");
    if (isFile)
      overrides.files[name.substr(filePrefix.size())] = value.bytes_param();
    else
      overrides.config = value.string_param();
  }
  return overrides;
}

Expected<bool>
readDependents(const inference::RepositoryModelUnloadRequest& request) {
  const auto found = request.parameters().find("unload_dependents");
  if (found == request.parameters().end())
    return false;
  if (!found->second.has_bool_param())
    return invalidLoad("invalid value type for 'unload_dependents' parameter, "
                       "expected bool_param.");
  return found->second.bool_param();
}

Status unknownRegion(const char* kind, const std::string& name) {
  return name.empty()
             ? Status::ok()
             : Status::error(std::string("Unable to find ") + kind +
                                 " shared memory region: '" + name + "'",
                             StatusCode::notFound);
}

} // namespace

Status repositoryIndex(CallHost& host,
                       const inference::RepositoryIndexRequest& request,
                       inference::RepositoryIndexResponse& answer) {
  RECIPERUN_TRY(checkRepository(request.repository_name()));
  for (const IndexEntry& entry : host.models.index(request.ready())) {
    auto& row = *answer.add_models();
    row.set_name(entry.name);
    row.set_version(entry.version);
    row.set_state(entry.state);
    row.set_reason(entry.reason);
  }
  return Status::ok();
}

void loadModel(CallHost& host,
               const inference::RepositoryModelLoadRequest& request,
               std::function<void(Status)> then) {
  if (Status status = host.acceptsRequests(); !status.isOk())
    return then(std::move(status));
  if (Status status = checkRepository(request.repository_name());
      !status.isOk())
    return then(std::move(status));
  Expected<LoadOverrides> overrides = readOverrides(request);
  if (!overrides)
    return then(overrides.status());
  host.models.load(request.model_name(), *std::move(overrides),
                   std::move(then));
}

void unloadModel(CallHost& host,
                 const inference::RepositoryModelUnloadRequest& request,
                 std::function<void(Status)> then) {
  if (Status status = host.acceptsRequests(); !status.isOk())
    return then(std::move(status));
  if (Status status = checkRepository(request.repository_name());
      !status.isOk())
    return then(std::move(status));
  const Expected<bool> dependents = readDependents(request);
  if (!dependents)
    return then(dependents.status());
  host.models.unload(request.model_name(), *dependents, std::move(then));
}

Status
systemMemoryStatus(CallHost&,
                   const inference::SystemSharedMemoryStatusRequest& request,
                   inference::SystemSharedMemoryStatusResponse&) {
  return unknownRegion("system", request.name());
}

Status cudaMemoryStatus(CallHost&,
                        const inference::CudaSharedMemoryStatusRequest& request,
                        inference::CudaSharedMemoryStatusResponse&) {
  return unknownRegion("cuda", request.name());
}

Status sharedMemoryDisabled() {
  return Status::error("Client shared memory is disabled. Start the server "
                       "with '--allow-client-shm=true' to enable.",
                       StatusCode::unsupported);
}

} // namespace reciperun::server
