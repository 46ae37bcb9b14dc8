// Checkpoints are numbered in the order in which they are saved. A run that
// restarts from an earlier one, or from the beginning, saves lower steps later.
// The state of the run is therefore the most recently saved checkpoint, not the
// one of the highest step.

#include "runtime/checkpoint/CheckpointFolder.h"

#include "runtime/checkpoint/Files.h"
#include "runtime/checkpoint/PutInPlace.h"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <cstdio>
#include <set>
#include <utility>

namespace reciperun::checkpoint {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view prefix = "step-";
constexpr const char* stagingSuffix = ".tmp";

std::string nameOf(int64_t step) {
  char name[32];
  std::snprintf(name, sizeof name, "step-%08lld", static_cast<long long>(step));
  return name;
}

/// `step-00000500.tmp`, or the `.old-` folder that a replacement may leave.
bool isLeftover(const std::string& name) {
  size_t dot = name.find('.');
  return dot != std::string::npos && stepOfName(name.substr(0, dot)) &&
         (name.substr(dot) == stagingSuffix ||
          name.compare(dot, 5, ".old-") == 0);
}

/// Writes a manifest. A remote one was removed when the save began, so that an
/// existing one is of another job, or this one, if the store's answer was lost.
Status writeManifest(const fs::path& path, const std::string& text) {
  const Status written = writeTextFile(path, text, Earlier::refuse);
  if (written.code() != StatusCode::alreadyExists)
    return written;
  Expected<std::string> found = readTextFile(path, manifestLimit);
  RECIPERUN_TRY(found);
  if (*found == text)
    return Status::ok();
  return Status::error("another job has saved `" + path.parent_path().string() +
                       "` meanwhile; give each run its own `checkpoint.dir`");
}

} // namespace

std::optional<int64_t> stepOfName(std::string_view name) {
  int64_t step = 0;
  if (!name.starts_with(prefix))
    return std::nullopt;
  const char* end = name.data() + name.size();
  auto [last, error] = std::from_chars(name.data() + prefix.size(), end, step);
  if (error != std::errc() || last != end || step < 0)
    return std::nullopt;
  return step;
}

bool isCheckpoint(const fs::path& path) {
  // If the status cannot be read, the reader of the checkpoint reports the
  // error.
  return reciperun::typeOf(path / manifestName) != fs::file_type::not_found;
}

fs::path CheckpointFolder::checkpoint(int64_t step) const {
  return folder / nameOf(step);
}

fs::path CheckpointFolder::staging(int64_t step) const {
  if (isAddress(folder))
    return checkpoint(step);
  return folder / (nameOf(step) + stagingSuffix);
}

Status CheckpointFolder::open() {
  const bool isRemote = isAddress(folder);
  if (!isRemote && reciperun::typeOf(folder) == fs::file_type::not_found)
    return Status::ok();
  Expected<std::vector<fs::path>> paths = entriesOf(folder);
  RECIPERUN_TRY(paths);
  for (const fs::path& path : *paths) {
    std::optional<int64_t> step = stepOfName(path.filename().string());
    // Without its manifest a remote checkpoint is being written or removed.
    if (!step || (isRemote && !isCheckpoint(path)))
      continue;
    const Examined found = examine(path);
    if (found.condition == Condition::whole)
      entries[*step] = {found.manifest->serial, found.manifest->validLoss};
    else
      faulty.push_back({*step, found.condition, found.reason});
  }
  sortFaults();
  return Status::ok();
}

void CheckpointFolder::sortFaults() {
  std::ranges::sort(faulty, {}, &Fault::step);
}

void CheckpointFolder::passOver(int64_t step, const std::string& reason) {
  entries.erase(step);
  faulty.push_back({step, Condition::damaged, reason});
  sortFaults();
}

Status CheckpointFolder::checkNewest() const {
  for (const Fault& fault : faulty)
    if (fault.condition == Condition::unreadable)
      return Status::error("checkpoint `" + checkpoint(fault.step).string() +
                           "` cannot be read, and may be where the run "
                           "stands: " +
                           fault.reason);
  if (faulty.empty() || !entries.empty())
    return Status::ok();
  std::string message = "of the " + std::to_string(faulty.size()) +
                        " checkpoints in `" + folder.string() +
                        "` none can be used";
  for (const Fault& fault : faulty)
    message += "; `" + checkpoint(fault.step).filename().string() +
               "`: " + fault.reason;
  return Status::error(message);
}

std::vector<int64_t> CheckpointFolder::steps() const {
  std::vector<int64_t> steps;
  for (const auto& [step, entry] : entries)
    steps.push_back(step);
  return steps;
}

Status CheckpointFolder::prepare() const {
  if (isAddress(folder))
    return prepareRemote();
  std::error_code code;
  fs::create_directories(folder, code);
  if (code)
    return systemError("make", folder, code.value());
  Expected<std::vector<fs::path>> paths = entriesOf(folder);
  RECIPERUN_TRY(paths);
  for (const fs::path& path : *paths) {
    if (!isLeftover(path.filename().string()))
      continue;
    fs::remove_all(path, code);
    if (code)
      return systemError("remove", path, code.value());
  }
  return Status::ok();
}

Status CheckpointFolder::prepareRemote() const {
  RECIPERUN_TRY(checkRemoteWrites(folder));
  Expected<RemoteFiles*> files = remoteFilesOf(folder);
  RECIPERUN_TRY(files);
  RECIPERUN_TRY((*files)->abandonUploads(folder.string()));
  Expected<std::vector<fs::path>> paths = entriesOf(folder);
  RECIPERUN_TRY(paths);
  for (const fs::path& path : *paths)
    if (stepOfName(path.filename().string()) && isAbsent(path / manifestName))
      RECIPERUN_TRY(removeRemoteFolder(path, manifestName));
  return Status::ok();
}

Status CheckpointFolder::begin(int64_t step) const {
  if (!isAddress(folder)) {
    std::error_code code;
    fs::create_directories(staging(step), code);
    return code ? systemError("make", staging(step), code.value())
                : Status::ok();
  }
  Expected<RemoteFiles*> files = remoteFilesOf(folder);
  RECIPERUN_TRY(files);
  const std::string manifest = (checkpoint(step) / manifestName).string();
  return (*files)->remove(std::span(&manifest, 1));
}

std::optional<int64_t> CheckpointFolder::newest() const {
  auto found = std::max_element(entries.begin(), entries.end(),
                                [](const auto& a, const auto& b) {
                                  return a.second.serial < b.second.serial;
                                });
  if (found == entries.end())
    return std::nullopt;
  return found->first;
}

Status CheckpointFolder::publish(Manifest manifest, const Keep& keep) {
  int64_t step = manifest.position.step;
  std::optional<int64_t> last = newest();
  manifest.serial = last ? entries.at(*last).serial + 1 : 1;
  fs::path aside = staging(step);
  RECIPERUN_TRY(checkFiles(manifest, aside));
  RECIPERUN_TRY(sealFiles(manifest, aside));
  RECIPERUN_TRY(writeManifest(aside / manifestName, toJson(manifest)));
  if (!isAddress(folder)) {
    if (!entries.contains(step))
      RECIPERUN_TRY(setAside(step));
    RECIPERUN_TRY(putInPlace(aside, checkpoint(step)));
  }
  entries[step] = {manifest.serial, manifest.validLoss};
  prune(keep);
  return Status::ok();
}

std::vector<std::string> CheckpointFolder::takeLeftovers() {
  return std::exchange(leftovers, {});
}

/// Renames a folder with the checkpoint's name that is not known to be
/// complete, instead of deleting it: its data may still be useful.
Status CheckpointFolder::setAside(int64_t step) {
  const fs::path from = checkpoint(step);
  std::error_code code;
  if (fs::symlink_status(from, code).type() == fs::file_type::not_found)
    return Status::ok();
  fs::path to = from;
  to += ".damaged";
  for (int number = 2; fs::exists(to, code); ++number)
    to = from.string() + ".damaged-" + std::to_string(number);
  fs::rename(from, to, code);
  if (code)
    return systemError("rename", from, code.value());
  std::erase_if(faulty, [&](const Fault& fault) { return fault.step == step; });
  leftovers.push_back("`" + from.string() + "`, which was not whole, is now `" +
                      to.string() + "`");
  return Status::ok();
}

std::vector<int64_t> CheckpointFolder::superfluous(const Keep& keep) const {
  std::vector<int64_t> bySerial, byLoss;
  for (const auto& [step, entry] : entries) {
    bySerial.push_back(step);
    if (entry.validLoss)
      byLoss.push_back(step);
  }
  auto later = [&](int64_t a, int64_t b) {
    return entries.at(a).serial > entries.at(b).serial;
  };
  // For equal losses the earlier checkpoint is better.
  auto better = [&](int64_t a, int64_t b) {
    const Entry &left = entries.at(a), &right = entries.at(b);
    return *left.validLoss != *right.validLoss
               ? *left.validLoss < *right.validLoss
               : left.serial < right.serial;
  };
  std::sort(bySerial.begin(), bySerial.end(), later);
  std::sort(byLoss.begin(), byLoss.end(), better);
  auto firstOf = [](const std::vector<int64_t>& steps, int64_t count) {
    return steps.begin() + std::min<int64_t>(count, int64_t(steps.size()));
  };
  std::set<int64_t> kept(bySerial.cbegin(), firstOf(bySerial, keep.last));
  kept.insert(byLoss.cbegin(), firstOf(byLoss, keep.top));
  std::vector<int64_t> others = steps();
  std::erase_if(others, [&](int64_t step) { return kept.contains(step); });
  return others;
}

void CheckpointFolder::prune(const Keep& keep) {
  for (int64_t step : superfluous(keep))
    if (remove(step))
      entries.erase(step);
}

/// Renames the checkpoint before deleting it, so that a partly removed one
/// never has its name. A checkpoint that another process has moved counts as
/// removed. Returns whether the name is free.
bool CheckpointFolder::remove(int64_t step) {
  if (isAddress(folder))
    return removeRemote(step);
  std::error_code code;
  fs::rename(checkpoint(step), staging(step), code);
  const bool isThere = code && code != std::errc::no_such_file_or_directory;
  if (!code)
    fs::remove_all(staging(step), code);
  if (code && code != std::errc::no_such_file_or_directory)
    leftovers.push_back(
        systemError("remove", checkpoint(step), code.value()).message());
  return !isThere;
}

bool CheckpointFolder::removeRemote(int64_t step) {
  const Status removed = removeRemoteFolder(checkpoint(step), manifestName);
  if (!removed.isOk())
    leftovers.push_back(removed.message());
  return removed.isOk();
}

} // namespace reciperun::checkpoint
