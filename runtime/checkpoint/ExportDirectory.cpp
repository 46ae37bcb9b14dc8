// Creates the staging directory next to the target, and checks what an export
// may replace.

#include "runtime/checkpoint/ExportDirectory.h"

#include "runtime/checkpoint/Files.h"
#include "runtime/checkpoint/Manifest.h"
#include "runtime/checkpoint/PutInPlace.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <optional>
#include <string_view>
#include <unistd.h>
#include <vector>

namespace reciperun::checkpoint {
namespace {

namespace fs = std::filesystem;

/// All files that an export may write at the top level of its directory.
constexpr std::string_view exportedNames[] = {
    "adapter",
    "adapter_config.json",
    "adapter_model.safetensors",
    "chat_template.jinja",
    "config.json",
    "generate.plan.json",
    "generation_config.json",
    "hf_quant_config.json",
    "model.safetensors.index.json",
    "special_tokens_map.json",
    "tokenizer.json",
    "tokenizer_config.json",
};

bool isOf(Contents contents, const std::string& name) {
  bool isTensors = name.ends_with(".safetensors");
  if ((contents == Contents::checkpoint && name == manifestName) ||
      name == writeProbe)
    return true;
  return (isTensors &&
          name.starts_with(contents == Contents::checkpoint ? "rank-"
                                                            : "model")) ||
         std::find(std::begin(exportedNames), std::end(exportedNames), name) !=
             std::end(exportedNames);
}

/// The file that is written last, without which a folder is not complete.
std::string lastWritten(Contents contents) {
  return contents == Contents::checkpoint ? manifestName : "config.json";
}

/// The absolute path with links resolved and without a trailing slash, so that
/// a suffix can be appended.
Expected<fs::path> placeOf(const fs::path& directory) {
  if (isAddress(directory))
    return directory.has_filename() ? directory : directory.parent_path();
  std::error_code code;
  const fs::path absolute = fs::absolute(directory, code);
  if (code)
    return Status::error("the folder that `" + directory.string() +
                         "` is relative to cannot be told: " + code.message() +
                         "; give a path that begins with `/`");
  fs::path place = fs::weakly_canonical(absolute, code);
  if (code)
    place = absolute.lexically_normal();
  return place.has_filename() ? place : place.parent_path();
}

/// The text between a target's name and the writing process's id in a staging
/// directory's name. It has the host name, because processes of other hosts may
/// write to the same shared disk.
std::string stagingInfix() {
  char host[256] = {};
  if (gethostname(host, sizeof host - 1) != 0)
    return ".tmp-";
  std::string infix = ".tmp-" + std::string(host) + "-";
  std::replace(infix.begin(), infix.end(), '/', '_');
  return infix;
}

bool isRunning(pid_t process) {
  return process != getpid() && (kill(process, 0) == 0 || errno != ESRCH);
}

/// The process id after `prefix` in a name.
std::optional<pid_t> processOf(std::string_view name, std::string_view prefix) {
  if (!name.starts_with(prefix))
    return std::nullopt;
  name.remove_prefix(prefix.size());
  pid_t process = 0;
  auto [end, code] =
      std::from_chars(name.data(), name.data() + name.size(), process);
  bool isNumber = code == std::errc() && end == name.data() + name.size();
  return isNumber && process > 0 ? std::optional(process) : std::nullopt;
}

/// Removes staging directories of processes on this host that died.
void removeLeftovers(const fs::path& place) {
  const std::string prefix = place.filename().string() + stagingInfix();
  std::vector<fs::path> leftovers;
  std::error_code code;
  for (fs::directory_iterator each(place.parent_path(), code), end;
       !code && each != end; each.increment(code)) {
    auto process = processOf(each->path().filename().string(), prefix);
    if (process && !isRunning(*process))
      leftovers.push_back(each->path());
  }
  for (const fs::path& leftover : leftovers)
    fs::remove_all(leftover, code); // a leftover does no harm
}

/// Checks that the path is absent, an empty folder, or an earlier export that
/// may be replaced.
Status checkReplaceable(const fs::path& place, Contents contents,
                        Existing existing) {
  if (!isAddress(place)) {
    const fs::file_type type = reciperun::typeOf(place);
    if (type == fs::file_type::not_found)
      return Status::ok();
    if (type != fs::file_type::directory)
      return Status::error("`" + place.string() + "` is no directory");
  }
  const auto entries = entriesOf(place);
  RECIPERUN_TRY(entries);
  bool isEmpty = true;
  for (const fs::path& entry : *entries) {
    isEmpty = false;
    if (std::string name = entry.filename().string(); !isOf(contents, name))
      return Status::error("an export to `" + place.string() +
                           "` would delete its `" + name +
                           "`; choose another folder or move "
                           "that file");
  }
  if (isEmpty || existing == Existing::replace)
    return Status::ok();
  return Status::error(
      "`" + place.string() + "` already holds a " +
      (isThere(place / manifestName) ? "checkpoint" : "model") +
      "; choose another folder, or replace it by `--force`");
}

/// The folders above a path that do not exist, innermost first.
std::vector<fs::path> missingParents(const fs::path& place) {
  std::vector<fs::path> missing;
  std::error_code code;
  for (fs::path above = place.parent_path();
       !above.empty() && !fs::exists(above, code); above = above.parent_path())
    missing.push_back(above);
  return missing;
}

} // namespace

Status checkWritable(const fs::path& directory) {
  if (isAddress(directory)) {
    Expected<fs::path> place = placeOf(directory);
    RECIPERUN_TRY(place);
    RECIPERUN_TRY(checkReplaceable(*place, Contents::model, Existing::replace));
    return checkRemoteWrites(*place);
  }
  // Creating the staging directory is the only check that covers every cause of
  // failure: permissions, a full or read-only file system.
  return ExportDirectory::create(directory).status();
}

Expected<ExportDirectory> ExportDirectory::create(const fs::path& directory,
                                                  Contents contents,
                                                  Existing existing) {
  Expected<fs::path> found = placeOf(directory);
  RECIPERUN_TRY(found);
  const fs::path& place = *found;
  if (isAddress(place))
    return createRemote(place, contents, existing);
  RECIPERUN_TRY(checkReplaceable(place, contents, existing));
  removeLeftovers(place);
  ExportDirectory made;
  made.contents = contents;
  made.existing = existing;
  made.target = place;
  made.parents = missingParents(place);
  made.staging = place;
  made.staging += stagingInfix() + std::to_string(getpid());
  std::error_code code;
  fs::create_directories(place.parent_path(), code);
  if (code)
    return systemError("make", place.parent_path(), code.value());
  fs::create_directory(made.staging, code);
  if (code)
    return systemError("make", made.staging, code.value());
  return made;
}

Expected<ExportDirectory> ExportDirectory::createRemote(const fs::path& place,
                                                        Contents contents,
                                                        Existing existing) {
  RECIPERUN_TRY(checkReplaceable(place, contents, existing));
  Expected<RemoteFiles*> files = remoteFilesOf(place);
  RECIPERUN_TRY(files);
  RECIPERUN_TRY((*files)->abandonUploads(place.string()));
  RECIPERUN_TRY(removeRemoteFolder(place, lastWritten(contents)));
  ExportDirectory made;
  made.contents = contents;
  made.existing = existing;
  made.target = place;
  made.staging = place;
  return made;
}

ExportDirectory::ExportDirectory(ExportDirectory&& other) noexcept
    : contents(other.contents), existing(other.existing),
      parents(std::move(other.parents)), target(std::move(other.target)),
      staging(std::move(other.staging)) {
  other.staging.clear();
}

ExportDirectory::~ExportDirectory() {
  if (!staging.empty())
    removeStaging();
}

void ExportDirectory::removeStaging() {
  if (isAddress(staging)) { // best effort: the failure is reported anyway
    (void)removeRemoteFolder(staging, lastWritten(contents)).isOk();
    return;
  }
  std::error_code code;
  fs::remove_all(staging, code);
  // A parent that another process has written to is not empty, and stays.
  for (const fs::path& parent : parents)
    fs::remove(parent, code);
}

Status ExportDirectory::commit() {
  if (isAddress(target)) {
    staging.clear();
    return Status::ok();
  }
  // The target may have changed since the export began.
  RECIPERUN_TRY(checkReplaceable(target, contents, existing));
  RECIPERUN_TRY(putInPlace(staging, target));
  staging.clear();
  return Status::ok();
}

} // namespace reciperun::checkpoint
