// The engine of a server, for the models of a repository that use it.

#ifndef RECIPERUN_SERVER_BACKENDS_SERVEDENGINE_H
#define RECIPERUN_SERVER_BACKENDS_SERVEDENGINE_H

#include "runtime/server/front/ApiModel.h"
#include "runtime/server/front/EngineClient.h"

#include <filesystem>

namespace reciperun::server {

/// A server's process runs one engine. The references outlive all models.
struct ServedEngine {
  EngineClient& client; // of the server's thread
  const ApiModel& model;

  const std::filesystem::path& folder() const { return model.folder.path; }
};

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_BACKENDS_SERVEDENGINE_H
