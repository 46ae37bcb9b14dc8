// See EngineSource.h.

#include "runtime/server/repository/EngineSource.h"

#include "runtime/server/backends/EngineModels.h"

#include <utility>

namespace reciperun::server {

Expected<LoadedModel> EngineSource::load(const std::string&,
                                         const LoadOverrides&) const {
  if (!engine)
    return Status::error("the engine is not loaded", StatusCode::unavailable);
  LoadedModel loaded;
  loaded.config = textModelConfig(name);
  LoadedModel::Version& version = loaded.versions.emplace_back();
  version.code.stream =
      makeTextModel(*loaded.config, *engine, /*excludesInput=*/true);
  return loaded;
}

} // namespace reciperun::server
