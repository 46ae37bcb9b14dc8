// Replacing a directory: renameat2(2) exchanges two directories in one step, so
// that a reader sees the old model or the new one. Where the file system cannot
// do that, the old one is renamed away first.

#include "runtime/checkpoint/ExportDirectory.h"

#include "runtime/checkpoint/Files.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <string_view>
#include <unistd.h>

namespace reciperun::checkpoint {
namespace {

namespace fs = std::filesystem;

/// Everything that an export may write at the top of its directory.
constexpr std::string_view exportedNames[] = {
    "adapter",
    "chat_template.jinja",
    "config.json",
    "generate.plan.json",
    "generation_config.json",
    "model.safetensors.index.json",
    "special_tokens_map.json",
    "tokenizer.json",
    "tokenizer_config.json",
};

bool isExported(const std::string& name) {
  return std::find(std::begin(exportedNames), std::end(exportedNames), name) !=
             std::end(exportedNames) ||
         (name.starts_with("model") && name.ends_with(".safetensors"));
}

/// Absolute, links followed, and without a slash at the end, so that names can
/// be put behind it.
fs::path placeOf(const fs::path& directory) {
  std::error_code code;
  fs::path place = fs::weakly_canonical(fs::absolute(directory), code);
  if (code)
    place = fs::absolute(directory).lexically_normal();
  return place.has_filename() ? place : place.parent_path();
}

/// Nothing at the place, an empty folder or an earlier export.
Status checkReplaceable(const fs::path& place) {
  std::error_code code;
  fs::file_status found = fs::status(place, code);
  if (found.type() == fs::file_type::not_found)
    return Status::ok();
  if (found.type() != fs::file_type::directory)
    return Status::error("`" + place.string() + "` is no directory");
  fs::directory_iterator entries(place, code);
  if (code)
    return systemError("read", place, code.value());
  for (const fs::directory_entry& entry : entries)
    if (std::string name = entry.path().filename().string(); !isExported(name))
      return Status::error("an export to `" + place.string() +
                           "` would delete its `" + name +
                           "`; choose another `export.hf` or move that file");
  return Status::ok();
}

} // namespace

Status checkWritable(const fs::path& directory) {
  // Making the staging directory is the only test that knows every reason for
  // which it may fail: permissions, a full or read-only file system.
  return ExportDirectory::create(directory).status();
}

Expected<ExportDirectory> ExportDirectory::create(const fs::path& directory) {
  fs::path place = placeOf(directory);
  RECIPERUN_TRY(checkReplaceable(place));
  std::error_code code;
  fs::create_directories(place.parent_path(), code);
  if (code)
    return systemError("make", place.parent_path(), code.value());
  fs::path staging = place;
  staging += ".tmp-" + std::to_string(getpid());
  // What a process of the same number left behind, if anything.
  fs::remove_all(staging, code);
  fs::create_directory(staging, code);
  if (code)
    return systemError("make", staging, code.value());
  ExportDirectory made;
  made.target = place;
  made.staging = staging;
  return made;
}

ExportDirectory::ExportDirectory(ExportDirectory&& other) noexcept
    : target(std::move(other.target)), staging(std::move(other.staging)) {
  other.staging.clear();
}

ExportDirectory::~ExportDirectory() {
  std::error_code code;
  if (!staging.empty())
    fs::remove_all(staging, code);
}

/// Afterwards the earlier export is at the staging place.
Status ExportDirectory::exchange() {
  if (renameat2(AT_FDCWD, staging.c_str(), AT_FDCWD, target.c_str(),
                RENAME_EXCHANGE) == 0)
    return Status::ok();
  if (errno != EINVAL && errno != ENOSYS)
    return systemError("replace", target, errno);
  fs::path old = target;
  old += ".old-" + std::to_string(getpid());
  if (rename(target.c_str(), old.c_str()) != 0)
    return systemError("replace", target, errno);
  if (rename(staging.c_str(), target.c_str()) != 0) {
    Status failure = systemError("replace", target, errno);
    // Best effort: the failure is reported either way.
    (void)rename(old.c_str(), target.c_str());
    return failure;
  }
  staging = old;
  return Status::ok();
}

Status ExportDirectory::commit() {
  RECIPERUN_TRY(syncDirectory(staging));
  // The place may have changed since the beginning.
  RECIPERUN_TRY(checkReplaceable(target));
  std::error_code code;
  if (!fs::exists(target, code)) {
    if (rename(staging.c_str(), target.c_str()) != 0)
      return systemError("write", target, errno);
    staging.clear();
  } else {
    RECIPERUN_TRY(exchange());
  }
  RECIPERUN_TRY(syncDirectory(target.parent_path()));
  // What is left at the staging place is the earlier export.
  if (!staging.empty())
    fs::remove_all(staging, code);
  staging.clear();
  return Status::ok();
}

} // namespace reciperun::checkpoint
