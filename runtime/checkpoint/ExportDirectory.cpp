// Staging beside the target, and what an export may replace.

#include "runtime/checkpoint/ExportDirectory.h"

#include "runtime/checkpoint/Files.h"
#include "runtime/checkpoint/Manifest.h"
#include "runtime/checkpoint/PutInPlace.h"

#include <algorithm>
#include <string_view>
#include <unistd.h>

namespace reciperun::checkpoint {
namespace {

namespace fs = std::filesystem;

/// Everything that an export may write at the top of its directory.
constexpr std::string_view exportedNames[] = {
    "adapter",
    "adapter_config.json",
    "adapter_model.safetensors",
    "chat_template.jinja",
    "config.json",
    "generate.plan.json",
    "generation_config.json",
    "model.safetensors.index.json",
    "special_tokens_map.json",
    "tokenizer.json",
    "tokenizer_config.json",
};

bool isOf(Contents contents, const std::string& name) {
  bool isTensors = name.ends_with(".safetensors");
  if (contents == Contents::checkpoint && name == manifestName)
    return true;
  return (isTensors &&
          name.starts_with(contents == Contents::checkpoint ? "rank-"
                                                            : "model")) ||
         std::find(std::begin(exportedNames), std::end(exportedNames), name) !=
             std::end(exportedNames);
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
Status checkReplaceable(const fs::path& place, Contents contents) {
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
    if (std::string name = entry.path().filename().string();
        !isOf(contents, name))
      return Status::error("an export to `" + place.string() +
                           "` would delete its `" + name +
                           "`; choose another folder or move "
                           "that file");
  return Status::ok();
}

} // namespace

Status checkWritable(const fs::path& directory) {
  // Making the staging directory is the only test that knows every reason for
  // which it may fail: permissions, a full or read-only file system.
  return ExportDirectory::create(directory).status();
}

Expected<ExportDirectory> ExportDirectory::create(const fs::path& directory,
                                                  Contents contents) {
  fs::path place = placeOf(directory);
  RECIPERUN_TRY(checkReplaceable(place, contents));
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
  made.contents = contents;
  made.target = place;
  made.staging = staging;
  return made;
}

ExportDirectory::ExportDirectory(ExportDirectory&& other) noexcept
    : contents(other.contents), target(std::move(other.target)),
      staging(std::move(other.staging)) {
  other.staging.clear();
}

ExportDirectory::~ExportDirectory() {
  std::error_code code;
  if (!staging.empty())
    fs::remove_all(staging, code);
}

Status ExportDirectory::commit() {
  // The place may have changed since the beginning.
  RECIPERUN_TRY(checkReplaceable(target, contents));
  RECIPERUN_TRY(putInPlace(staging, target));
  staging.clear();
  return Status::ok();
}

} // namespace reciperun::checkpoint
