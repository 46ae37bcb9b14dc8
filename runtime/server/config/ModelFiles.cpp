// The files and version folders of a model: see ModelConfig.h.

#include "runtime/server/config/ModelConfig.h"

#include "runtime/base/InputFile.h"
#include "runtime/server/config/model_config.pb.h"

#include <algorithm>
#include <charconv>
#include <system_error>

namespace reciperun::server {
namespace {

namespace fs = std::filesystem;

Status badFile(const fs::path& file, const std::string& why) {
  return Status::error("`" + file.string() + "` " + why,
                       StatusCode::invalidArgument);
}

/// Whether `path` is below `root`; both are canonical.
bool isBelow(const fs::path& path, const fs::path& root) {
  return std::mismatch(root.begin(), root.end(), path.begin(), path.end())
             .first == root.end();
}

/// The number that a folder's name is; 0 for another name.
int64_t versionNumber(const std::string& name) {
  if (name.empty() || name[0] < '1' || name[0] > '9')
    return 0;
  int64_t number = 0;
  const char* const end = name.data() + name.size();
  const auto [stop, error] = std::from_chars(name.data(), end, number);
  return error == std::errc() && stop == end ? number : 0;
}

} // namespace

Expected<std::string> readModelFile(const fs::path& folder,
                                    const fs::path& file, int64_t mostBytes,
                                    const std::string& below) {
  std::error_code code;
  fs::path root = fs::canonical(folder, code);
  std::string place = "the model's folder";
  if (code)
    return badFile(file, "cannot be read: " + place + " is not there");
  if (!below.empty()) { // a link here leads out of the root
    root /= below;
    place += " `" + below + "`";
  }
  if (file.empty() || file.is_absolute())
    return badFile(file, "must be a path in " + place);
  const fs::path real = fs::canonical(root / file, code);
  if (code)
    return badFile(file, "cannot be read: " + code.message());
  if (!isBelow(real, root))
    return badFile(file, "is outside of " + place);
  // The messages of the reader have the whole path.
  if (!fs::is_regular_file(real, code))
    return badFile(file, "is not a regular file");
  if (fs::file_size(real, code) > uintmax_t(mostBytes) || code)
    return badFile(file,
                   "is larger than " + std::to_string(mostBytes) + " bytes");
  auto text = readTextFile(real, mostBytes);
  if (!text)
    return badFile(file, "cannot be read");
  return text;
}

std::vector<int64_t> versionFolders(const fs::path& folder) {
  std::vector<int64_t> found;
  std::error_code code;
  for (auto each = fs::directory_iterator(folder, code);
       !code && each != fs::directory_iterator(); each.increment(code)) {
    std::error_code failed; // of an entry that has just gone
    const int64_t number = versionNumber(each->path().filename().string());
    if (number > 0 && each->is_directory(failed))
      found.push_back(number);
  }
  std::ranges::sort(found);
  return found;
}

std::vector<int64_t> versionsOf(const fs::path& folder,
                                const inference::ModelConfig& config) {
  std::vector<int64_t> found = versionFolders(folder);
  const inference::ModelVersionPolicy& policy = config.version_policy();
  if (policy.has_all())
    return found;
  if (policy.has_specific()) {
    const auto& wanted = policy.specific().versions();
    std::erase_if(found, [&](int64_t number) {
      return std::ranges::find(wanted, number) == wanted.end();
    });
    return found;
  }
  const size_t most = std::max<uint32_t>(1, policy.latest().num_versions());
  if (found.size() > most)
    found.erase(found.begin(), found.end() - ptrdiff_t(most));
  return found;
}

} // namespace reciperun::server
