// See Repository.h: what is in service. RepositoryLoading.cpp brings it there.

#include "runtime/server/repository/Repository.h"

#include "runtime/server/config/model_config.pb.h"
#include "runtime/server/models/RequestCheck.h"

#include <algorithm>
#include <utility>

namespace reciperun::server {
namespace {

Status notFound(const std::string& message) {
  return Status::error("Request for unknown model: " + message,
                       StatusCode::notFound);
}

template <class Tensors>
std::vector<TensorMetadata> metadataOf(const Tensors& tensors, bool batches) {
  std::vector<TensorMetadata> all;
  for (const auto& tensor : tensors) {
    TensorMetadata& made = all.emplace_back();
    made.name = tensor.name();
    made.type = dataTypeOf(int(tensor.data_type())).value_or(DataType::bytes);
    if (batches)
      made.shape.push_back(-1);
    made.shape.insert(made.shape.end(), tensor.dims().begin(),
                      tensor.dims().end());
  }
  return all;
}

} // namespace

size_t Repository::openRequests() const {
  size_t all = 0;
  for (const auto& [name, entry] : entries)
    for (const auto& [number, version] : entry.ready)
      all += version->openRequests();
  return all;
}

bool Repository::isReady() const {
  if (!hasStarted || isStopping)
    return false;
  return !settings.isReadyWithAllModels ||
         std::ranges::all_of(entries, [](const auto& each) {
           const Entry& entry = each.second;
           return !entry.isWanted ||
                  (!entry.ready.empty() &&
                   std::ranges::all_of(entry.ready, [](const auto& version) {
                     return version.second->health().isOk();
                   }));
         });
}

Expected<std::shared_ptr<ServedVersion>>
Repository::find(const std::string& model, int64_t version) const {
  if (!hasStarted)
    return Status::error("Server not ready", StatusCode::unavailable);
  return findLoaded(model, version);
}

Expected<std::shared_ptr<ServedVersion>>
Repository::findLoaded(const std::string& model, int64_t version) const {
  const std::string name = "'" + model + "'";
  const auto entry = entries.find(model);
  if (entry == entries.end())
    return notFound(name + " is not found");
  const Versions& ready = entry->second.ready;
  if (version < 0) {
    if (ready.empty())
      return notFound(name + " has no available versions");
    return ready.rbegin()->second;
  }
  if (const auto found = ready.find(version); found != ready.end())
    return found->second;
  const std::string numbered = name + " version " + std::to_string(version);
  if (entry->second.retiring.contains(version) ||
      entry->second.failures.contains(version))
    return Status::error("Request for unknown model: " + numbered +
                             " is not at ready state",
                         StatusCode::unavailable);
  return notFound(numbered + " is not found");
}

Expected<bool> Repository::isModelReady(const std::string& model,
                                        int64_t version) const {
  const auto found = find(model, version);
  RECIPERUN_TRY(found);
  return (*found)->health().isOk();
}

Expected<ModelMetadata> Repository::metadata(const std::string& model,
                                             int64_t version) const {
  const auto found = find(model, version);
  RECIPERUN_TRY(found);
  const inference::ModelConfig& config = *(*found)->config();
  const bool batches = config.max_batch_size() > 0;
  ModelMetadata made{.name = config.name(),
                     .versions = {},
                     .platform = config.platform().empty() ? config.backend()
                                                           : config.platform(),
                     .inputs = metadataOf(config.input(), batches),
                     .outputs = metadataOf(config.output(), batches),
                     .isBatched = batches,
                     .isDecoupled =
                         config.model_transaction_policy().decoupled()};
  if (version >= 0)
    made.versions.push_back(std::to_string(version));
  else
    for (const auto& [number, served] : entries.at(model).ready)
      made.versions.push_back(std::to_string(number));
  return made;
}

Expected<SharedConfig> Repository::config(const std::string& model,
                                          int64_t version) const {
  const auto found = find(model, version);
  RECIPERUN_TRY(found);
  return (*found)->config();
}

SharedConfig Repository::configOf(const std::string& model,
                                  int64_t version) const {
  const auto found = findLoaded(model, version);
  return found ? (*found)->config() : nullptr;
}

Expected<std::vector<ModelStatistics>>
Repository::statistics(const std::string& model, int64_t version) const {
  std::vector<ModelStatistics> all;
  if (!model.empty()) {
    const auto found = find(model, version);
    RECIPERUN_TRY(found);
  }
  for (const auto& [name, entry] : entries)
    for (const auto& [number, served] : entry.ready)
      if ((model.empty() || model == name) &&
          (version < 0 || version == number))
        all.push_back(served->statistics());
  return all;
}

std::shared_ptr<Inference> Repository::infer(InferRequest request,
                                             Inference::Respond respond) {
  Expected<std::shared_ptr<ServedVersion>> version =
      find(request.model, request.version);
  if (version && !isStopping)
    return (*version)->infer(std::move(request), std::move(respond));
  auto refused =
      std::make_shared<Inference>(std::move(request), std::move(respond));
  refused->fail(
      version ? withRequestId(Status::error("Server is stopping, scheduler for "
                                            "model has stopped accepting new "
                                            "inference requests",
                                            StatusCode::unavailable),
                              refused->request)
              : version.status());
  return refused;
}

std::vector<IndexEntry> Repository::index(bool readyOnly) const {
  std::vector<IndexEntry> all;
  std::set<std::string> names;
  for (const auto& [name, entry] : entries) {
    std::map<int64_t, IndexEntry> versions;
    for (const auto& [number, reason] : entry.failures)
      versions[number] = {.name = name,
                          .version = std::to_string(number),
                          .state = "UNAVAILABLE",
                          .reason = reason};
    for (const auto& [number, state] : entry.retiring)
      versions[number] = {.name = name,
                          .version = std::to_string(number),
                          .state = state,
                          .reason = {}};
    for (const auto& [number, served] : entry.ready)
      versions[number] = {.name = name,
                          .version = std::to_string(number),
                          .state = "READY",
                          .reason = {}};
    if (versions.empty() && entry.isLoading)
      versions[1] = {
          .name = name, .version = "1", .state = "LOADING", .reason = {}};
    for (auto& [number, version] : versions)
      if (!readyOnly || version.state == "READY")
        all.push_back(std::move(version));
    if (!versions.empty())
      names.insert(name);
  }
  if (!readyOnly)
    for (const std::string& name : source.names())
      if (!names.contains(name))
        all.push_back({.name = name, .version = {}, .state = {}, .reason = {}});
  return all;
}

} // namespace reciperun::server
