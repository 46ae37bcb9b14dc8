// See FolderKind.h. Looks at file names; from manifests it only reads the
// serial number.

#include "runtime/checkpoint/FolderKind.h"

#include "runtime/base/InputFile.h"
#include "runtime/base/ParseJson.h"
#include "runtime/checkpoint/Files.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <initializer_list>
#include <system_error>
#include <vector>

namespace reciperun::checkpoint {
namespace {

namespace fs = std::filesystem;

constexpr const char* manifestFile = "manifest.json";

bool has(const fs::path& folder, const char* name) {
  return isThere(folder / name);
}

bool hasOneOf(const fs::path& folder,
              std::initializer_list<const char*> names) {
  return std::ranges::any_of(
      names, [&](const char* name) { return has(folder, name); });
}

/// The serial number of a checkpoint, which numbers checkpoints in the order in
/// which they were saved; 0 when the manifest has none, -1 when it is damaged.
int64_t serialOf(const fs::path& checkpoint) {
  auto text = readTextFile(checkpoint / manifestFile);
  auto json = parseJson(text ? *text : "");
  if (!json || !json->is_object())
    return -1;
  auto serial = json->find("serial");
  return serial != json->end() && serial->is_number_integer()
             ? serial->get<int64_t>()
             : 0;
}

/// The checkpoint in a folder that was saved last. If serial numbers are equal,
/// it is the one of the highest step. Empty when there is none.
fs::path newestIn(const fs::path& folder) {
  const auto entries = entriesOf(folder);
  fs::path newest;
  int64_t highest = -1;
  for (const fs::path& path : entries ? *entries : std::vector<fs::path>()) {
    const std::string name = path.filename().string();
    const bool isStep = name.starts_with("step-") &&
                        name.find_first_not_of("0123456789", 5) == name.npos;
    if (!isStep || !has(path, manifestFile))
      continue;
    if (int64_t serial = serialOf(path); serial >= highest) {
      newest = path;
      highest = serial;
    }
  }
  return newest;
}

/// What a file is part of: " of the model in `models/a`". Empty for any other
/// file.
std::string ownerOf(const fs::path& file) {
  const fs::path parent = file.parent_path();
  const FolderKind kind = lookAt(parent).kind;
  const std::string name = "in `" + parent.string() + "`";
  return kind == FolderKind::checkpoint ? " of the checkpoint " + name
         : kind == FolderKind::model    ? " of the model " + name
                                        : "";
}

} // namespace

Folder lookAt(const fs::path& path) {
  const fs::file_type type = reciperun::typeOf(path);
  if (type == fs::file_type::not_found)
    return {FolderKind::missing, {}};
  if (type != fs::file_type::directory)
    return {FolderKind::file, {}};
  if (has(path, manifestFile))
    return {FolderKind::checkpoint, {}};
  if (fs::path newest = newestIn(path); !newest.empty())
    return {FolderKind::checkpoints, newest};
  const fs::path newest = newestIn(path / "checkpoints");
  const bool hasFilesOfRun =
      has(path, "plan.json") && has(path, "metrics.jsonl");
  if (!newest.empty() || hasFilesOfRun)
    return {FolderKind::run, newest};
  if (has(path, "adapter_config.json"))
    return {FolderKind::adapter, {}};
  if (hasOneOf(path, {"generate.plan.json", "config.json", "model.safetensors",
                      "model.safetensors.index.json"}))
    return {FolderKind::model, {}};
  return {FolderKind::other, {}};
}

std::string describe(const fs::path& path, const Folder& folder) {
  const std::string name = "`" + path.string() + "`";
  const std::string newest = "`" + folder.newest.string() + "`";
  switch (folder.kind) {
  case FolderKind::missing:
    return "there is no " + name;
  case FolderKind::file:
    if (path.extension() == ".gguf")
      return name + " is a GGUF file, which cannot be read";
    return name + " is a file" + ownerOf(path);
  case FolderKind::checkpoint:
    return name + " is a checkpoint";
  case FolderKind::checkpoints:
    return name + " is a folder of checkpoints, the last of which is " + newest;
  case FolderKind::run:
    return name + " is the folder of a run" +
           (folder.newest.empty() ? ", which has no checkpoint"
                                  : ", whose last checkpoint is " + newest);
  case FolderKind::adapter:
    return name + " is an adapter without its model";
  case FolderKind::model:
    return name + " is the folder of a model";
  case FolderKind::other:
    return name + " is a folder without checkpoints and without a model";
  }
  return name;
}

std::string instead(const fs::path& adapter, const std::string& verb) {
  fs::path above = (adapter / "").parent_path().parent_path();
  if (!above.empty() && lookAt(above).kind == FolderKind::model)
    return verb + " the model that the export wrote, `" + above.string() + "`";
  return "merge it first, with peft's "
         "`PeftModel.from_pretrained(MODEL, ADAPTER).merge_and_unload()."
         "save_pretrained(DIR)`, and " +
         verb + " DIR";
}

std::string howToSave() {
  return "wait for the first one, or run the recipe again with `--set "
         "'checkpoint.every=N steps'`, or with `--set 'export.hf=\"DIR\"'` to "
         "write the trained model to DIR";
}

} // namespace reciperun::checkpoint
