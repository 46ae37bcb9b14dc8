// The text model of a server that serves a model's directory.

#ifndef RECIPERUN_SERVER_REPOSITORY_ENGINESOURCE_H
#define RECIPERUN_SERVER_REPOSITORY_ENGINESOURCE_H

#include "runtime/server/backends/ServedEngine.h"
#include "runtime/server/repository/ModelSource.h"

#include <optional>
#include <string>
#include <vector>

namespace reciperun::server {

class EngineSource : public ModelSource {
public:
  explicit EngineSource(std::string name) : name(std::move(name)) {}

  void setEngine(const ServedEngine& given) override { engine.emplace(given); }
  std::vector<std::string> names() const override { return {name}; }
  Expected<LoadedModel> load(const std::string& model,
                             const LoadOverrides& overrides) const override;
  std::string stampOf(const std::string&) const override { return {}; }

private:
  std::string name;
  std::optional<ServedEngine> engine;
};

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_REPOSITORY_ENGINESOURCE_H
