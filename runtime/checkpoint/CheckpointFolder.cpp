// Checkpoints are numbered in the order in which they are saved. A run that
// starts from an earlier one, or from the beginning, saves lower steps later:
// the last saved, not the one of the highest step, is where the run stands.

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

/// `step-00000500.tmp`, or the `.old-` that a replacement may leave.
bool isLeftover(const std::string& name) {
  size_t dot = name.find('.');
  return dot != std::string::npos && stepOfName(name.substr(0, dot)) &&
         (name.substr(dot) == stagingSuffix ||
          name.compare(dot, 5, ".old-") == 0);
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
  std::error_code code;
  return fs::exists(path / manifestName, code);
}

fs::path CheckpointFolder::checkpoint(int64_t step) const {
  return folder / nameOf(step);
}

fs::path CheckpointFolder::staging(int64_t step) const {
  return folder / (nameOf(step) + stagingSuffix);
}

Status CheckpointFolder::open() {
  std::error_code code;
  if (!fs::exists(folder, code))
    return Status::ok();
  for (const fs::directory_entry& entry :
       fs::directory_iterator(folder, code)) {
    std::optional<int64_t> step = stepOfName(entry.path().filename().string());
    if (!step)
      continue;
    Expected<Manifest> manifest = readManifest(entry.path());
    if (manifest)
      entries[*step] = {manifest->serial, manifest->validLoss};
    else
      messages.push_back("checkpoint `" + entry.path().string() +
                         "` is not whole: " + manifest.message());
  }
  if (code)
    return systemError("read", folder, code.value());
  std::sort(messages.begin(), messages.end());
  return Status::ok();
}

Status CheckpointFolder::prepare() const {
  std::error_code code;
  fs::create_directories(folder, code);
  if (code)
    return systemError("make", folder, code.value());
  std::vector<fs::path> leftovers;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, code))
    if (isLeftover(entry.path().filename().string()))
      leftovers.push_back(entry.path());
  if (code)
    return systemError("read", folder, code.value());
  for (const fs::path& leftover : leftovers) {
    fs::remove_all(leftover, code);
    if (code)
      return systemError("remove", leftover, code.value());
  }
  return Status::ok();
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
  RECIPERUN_TRY(writeTextFile(aside / manifestName, toJson(manifest)));
  RECIPERUN_TRY(putInPlace(aside, checkpoint(step)));
  entries[step] = {manifest.serial, manifest.validLoss};
  prune(keep);
  return Status::ok();
}

std::vector<std::string> CheckpointFolder::takeLeftovers() {
  return std::exchange(leftovers, {});
}

/// A checkpoint loses its name first, so that none that is half removed bears
/// one. Somebody else may have moved it away, which is as good.
void CheckpointFolder::prune(const Keep& keep) {
  std::vector<int64_t> bySerial, byLoss;
  for (const auto& [step, entry] : entries) {
    bySerial.push_back(step);
    if (entry.validLoss)
      byLoss.push_back(step);
  }
  auto later = [&](int64_t a, int64_t b) {
    return entries.at(a).serial > entries.at(b).serial;
  };
  // Of equal losses the earlier checkpoint is the better.
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
  for (int64_t step : bySerial) {
    if (kept.contains(step))
      continue;
    std::error_code code;
    fs::rename(checkpoint(step), staging(step), code);
    const bool isThere = code && code != std::errc::no_such_file_or_directory;
    if (!code)
      fs::remove_all(staging(step), code);
    if (code && code != std::errc::no_such_file_or_directory)
      leftovers.push_back(
          systemError("remove", checkpoint(step), code.value()).message());
    if (!isThere)
      entries.erase(step);
  }
}

} // namespace reciperun::checkpoint
