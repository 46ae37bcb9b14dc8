// See ServedPlaces.h.

#include "runtime/server/commands/ServedPlaces.h"

#include "runtime/base/SamePlace.h"
#include "runtime/checkpoint/Files.h"
#include "runtime/server/config/ModelConfig.h"
#include "runtime/server/config/model_config.pb.h"
#include "runtime/server/repository/ModelCodes.h"

#include <system_error>

namespace reciperun::server {
namespace {

namespace fs = std::filesystem;

bool isFile(const fs::path& path) {
  return typeOf(path) == fs::file_type::regular;
}

/// An exported model, or one of Hugging Face.
bool isModel(const fs::path& path) {
  return isFile(path / "generate.plan.json") || isFile(path / "config.json");
}

std::vector<fs::path> foldersIn(const fs::path& path) {
  std::vector<fs::path> folders;
  std::error_code code;
  for (auto each = fs::directory_iterator(path, code);
       !code && each != fs::directory_iterator(); each.increment(code))
    if (each->is_directory(code))
      folders.push_back(each->path());
  return folders;
}

/// The engine that a model of a repository has or names; empty: none. A model
/// whose configuration is invalid names none: loading it tells why.
fs::path engineOf(const fs::path& folder, const std::string& configName) {
  const auto read =
      readModelConfig(folder, folder.filename().string(), configName);
  if (!read)
    return {};
  const fs::path named = engineFolderOf(*read->config, folder);
  if (!named.empty())
    return named;
  const std::vector<int64_t> versions = versionsOf(folder, *read->config);
  const fs::path version =
      versions.empty() ? fs::path() : folder / std::to_string(versions.back());
  return !version.empty() && isModel(version) ? version : fs::path();
}

Status findEngine(ServedPlaces& places, const std::string& configName) {
  for (const fs::path& repository : places.repositories)
    for (const fs::path& model : foldersIn(repository)) {
      const fs::path engine = engineOf(model, configName);
      if (engine.empty() || isSamePlace(engine, places.engine))
        continue;
      if (!places.engine.empty())
        return Status::error(
            "`" + places.user.string() + "` and `" + model.string() +
            "` name different engines, `" + places.engine.string() + "` and `" +
            engine.string() +
            "`; one server runs one engine: start a server for each, or name "
            "one by `--engine`");
      places.engine = engine;
      places.user = model;
    }
  return Status::ok();
}

} // namespace

Expected<ServedPlaces> findPlaces(const std::vector<std::string>& paths,
                                  const std::string& engine,
                                  const std::string& configName) {
  ServedPlaces places;
  places.engine = engine;
  for (const std::string& path : paths) {
    RECIPERUN_TRY(checkpoint::checkListable(path));
    if (!isFolder(path))
      return Status::error("`" + path + "` is no directory");
    if (isModel(path) && paths.size() == 1 && engine.empty()) {
      places.engine = path;
      return places;
    }
    if (isModel(path))
      return Status::error("`" + path +
                           "` is a model; it is served alone, or from a "
                           "repository with `--engine " +
                           path + "`");
    if (isAddress(path))
      return Status::error(
          "`" + path +
          "` holds neither `generate.plan.json` nor `config.json`, so that it "
          "is no model, and a repository of models is read from a folder; "
          "copy the repository to one, whose models may name an engine at an "
          "address as their `gpt_model_path`");
    places.repositories.emplace_back(path);
  }
  if (places.engine.empty())
    RECIPERUN_TRY(findEngine(places, configName));
  return places;
}

} // namespace reciperun::server
