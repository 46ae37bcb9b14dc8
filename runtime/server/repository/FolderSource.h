// The models of repository folders, in Triton's layout:
// REPOSITORY/MODEL/config.pbtxt and REPOSITORY/MODEL/VERSION/.

#ifndef RECIPERUN_SERVER_REPOSITORY_FOLDERSOURCE_H
#define RECIPERUN_SERVER_REPOSITORY_FOLDERSOURCE_H

#include "runtime/server/backends/ServedEngine.h"
#include "runtime/server/repository/ModelSource.h"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace reciperun::server {

class FolderSource : public ModelSource {
public:
  struct Settings {
    std::vector<std::filesystem::path> folders;
    /// The name of a file in a model's `configs` that takes the place of its
    /// config.pbtxt, without `.pbtxt`; empty: none.
    std::string configName = {};
  };

  explicit FolderSource(Settings settings);

  void setEngine(const ServedEngine& given) override { engine.emplace(given); }
  std::vector<std::string> names() const override;
  Expected<LoadedModel> load(const std::string& name,
                             const LoadOverrides& overrides) const override;
  std::string stampOf(const std::string& name) const override;

private:
  Expected<std::filesystem::path> folderOf(const std::string& name) const;

  Settings settings;
  std::optional<ServedEngine> engine;
};

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_REPOSITORY_FOLDERSOURCE_H
