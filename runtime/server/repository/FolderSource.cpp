// See FolderSource.h.

#include "runtime/server/repository/FolderSource.h"

#include "runtime/server/config/ModelConfig.h"
#include "runtime/server/config/model_config.pb.h"
#include "runtime/server/repository/ModelCodes.h"

#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>
#include <system_error>
#include <utility>

namespace reciperun::server {
namespace {

namespace fs = std::filesystem;

/// A line for each file and folder below `folder`, with its time and size.
void addStamps(const fs::path& folder, std::set<std::string>& lines) {
  std::error_code code;
  for (auto each = fs::recursive_directory_iterator(
           folder, fs::directory_options::skip_permission_denied, code);
       !code && each != fs::recursive_directory_iterator();
       each.increment(code)) {
    std::error_code failed; // of a file that has just gone
    const auto time = each->last_write_time(failed);
    const uintmax_t size =
        each->is_regular_file(failed) ? each->file_size(failed) : 0;
    lines.insert(each->path().string() + " " + std::to_string(size) + " " +
                 std::to_string(time.time_since_epoch().count()));
  }
}

/// A folder that is removed with the object.
class TemporaryFolder {
public:
  TemporaryFolder() {
    std::string name = fs::temp_directory_path() / "recipec-model-XXXXXX";
    if (mkdtemp(name.data()))
      path = name;
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder() {
    std::error_code code;
    if (!path.empty())
      fs::remove_all(path, code);
  }

  fs::path path; // empty: it could not be made
};

/// Writes the files of a request to load a model.
Status writeFiles(const std::map<std::string, std::string>& files,
                  const fs::path& folder) {
  for (const auto& [name, content] : files) {
    const fs::path relative = fs::path(name).lexically_normal();
    if (relative.empty() || relative.is_absolute() || *relative.begin() == "..")
      return Status::error("Invalid file parameter 'file:" + name +
                               "' with normalized path '" + relative.string() +
                               "' must stay within model directory.",
                           StatusCode::invalidArgument);
    std::error_code code;
    fs::create_directories((folder / relative).parent_path(), code);
    std::ofstream file(folder / relative, std::ios::binary);
    file << content;
    if (!file.flush())
      return Status::error("cannot write the file '" + relative.string() +
                           "' of the request");
  }
  return Status::ok();
}

constexpr int64_t mostLabelBytes = int64_t(64) << 20;

/// The lines of a file of labels, of which the model's folder has the path.
Expected<std::vector<std::string>> labelsIn(const fs::path& folder,
                                            const std::string& file) {
  const auto text = readModelFile(folder, file, mostLabelBytes);
  RECIPERUN_TRY(text.status().withContext("`label_filename`"));
  std::vector<std::string> labels;
  std::istringstream lines(*text);
  for (std::string line; std::getline(lines, line);) {
    if (line.ends_with('\r'))
      line.pop_back();
    labels.push_back(line);
  }
  return labels;
}

Expected<ClassLabels> labelsOf(const fs::path& folder,
                               const inference::ModelConfig& config) {
  ClassLabels all;
  for (const auto& output : config.output()) {
    if (output.label_filename().empty())
      continue;
    auto labels = labelsIn(folder, output.label_filename());
    RECIPERUN_TRY(labels);
    all[output.name()] = *std::move(labels);
  }
  return all;
}

} // namespace

FolderSource::FolderSource(Settings settings) : settings(std::move(settings)) {}

std::vector<std::string> FolderSource::names() const {
  std::set<std::string> names;
  for (const fs::path& repository : settings.folders) {
    std::error_code code;
    for (auto each = fs::directory_iterator(repository, code);
         !code && each != fs::directory_iterator(); each.increment(code)) {
      const std::string name = each->path().filename().string();
      if (each->is_directory(code) && !name.starts_with('.'))
        names.insert(name);
    }
  }
  return {names.begin(), names.end()};
}

/// The model's folder. Fails where several repositories have one.
Expected<fs::path> FolderSource::folderOf(const std::string& name) const {
  fs::path found;
  for (const fs::path& repository : settings.folders) {
    std::error_code code;
    if (!fs::is_directory(repository / name, code))
      continue;
    if (!found.empty())
      return Status::error("failed to poll model '" + name +
                               "': not unique across all model repositories",
                           StatusCode::invalidArgument);
    found = repository / name;
  }
  if (found.empty())
    return Status::error("failed to poll from model repository",
                         StatusCode::internal);
  return found;
}

Expected<LoadedModel> FolderSource::load(const std::string& name,
                                         const LoadOverrides& overrides) const {
  auto folder = folderOf(name);
  RECIPERUN_TRY(folder);
  const fs::path repository = folder->parent_path();
  std::optional<TemporaryFolder> given;
  if (!overrides.files.empty()) {
    given.emplace();
    RECIPERUN_TRY(given->path.empty()
                      ? Status::error("cannot make a temporary folder")
                      : writeFiles(overrides.files, given->path));
    *folder = given->path;
  }
  const auto read = overrides.config
                        ? readModelConfigJson(*overrides.config, name)
                        : readModelConfig(*folder, name, settings.configName);
  RECIPERUN_TRY(read);
  const inference::ModelConfig& config = *read->config;
  LoadedModel loaded;
  loaded.config = read->config;
  loaded.warnings = read->warnings;
  for (const auto& warmup : config.model_warmup())
    if (warmup.batch_size() == 0)
      loaded.warnings.push_back("model `" + name + "`: the warm-up `" +
                                warmup.name() +
                                "` does not run: its `batch_size` is 0");
  auto labels = labelsOf(*folder, config);
  RECIPERUN_TRY(labels);
  loaded.labels = *std::move(labels);
  auto warmup = warmupSamplesOf(config, *folder);
  RECIPERUN_TRY(warmup);
  loaded.warmup = *std::move(warmup);
  const std::vector<int64_t> versions = versionsOf(*folder, config);
  if (versions.empty())
    return Status::error("at least one version must be available under the "
                         "version policy of model '" +
                             name + "'",
                         StatusCode::invalidArgument);
  for (const int64_t number : versions) {
    LoadedModel::Version& version = loaded.versions.emplace_back();
    version.number = number;
    if (config.has_ensemble_scheduling())
      continue;
    auto code =
        makeCode(config, {.repository = repository, .folder = *folder}, engine);
    RECIPERUN_TRY(code);
    version.code = *std::move(code);
  }
  return loaded;
}

std::string FolderSource::stampOf(const std::string& name) const {
  std::set<std::string> lines;
  for (const fs::path& repository : settings.folders)
    addStamps(repository / name, lines);
  std::string stamp;
  for (const std::string& line : lines)
    stamp += line + "\n";
  return stamp;
}

} // namespace reciperun::server
