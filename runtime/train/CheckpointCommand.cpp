// `reciperun checkpoint list|verify|prune|diff`: works on the checkpoints of a
// run in one process, while no job uses them.

#include "runtime/train/Commands.h"

#include "runtime/base/Text.h"
#include "runtime/checkpoint/CheckpointFolder.h"
#include "runtime/checkpoint/Files.h"
#include "runtime/checkpoint/FolderKind.h"
#include "runtime/checkpoint/FolderLock.h"
#include "runtime/checkpoint/Verify.h"
#include "runtime/cli/Options.h"
#include "runtime/train/CheckpointCopy.h"
#include "runtime/train/CheckpointDiff.h"

#include <nlohmann/json.hpp>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <memory>
#include <sys/stat.h>

namespace reciperun::train {
namespace {

namespace fs = std::filesystem;
using checkpoint::CheckpointFolder;
using checkpoint::Condition;
using checkpoint::Examined;
using checkpoint::Keep;
using Json = nlohmann::ordered_json;

struct CheckpointArguments {
  std::vector<std::string> paths; // two for `diff`, otherwise one
  bool json = false, dryRun = false, all = false;
  int64_t keepLast = 0, keepTop = 0;
};

// ---- which checkpoints

/// The checkpoint folders in a folder, by name, sorted by step.
Expected<std::vector<fs::path>> stepsIn(const fs::path& folder) {
  Expected<std::vector<fs::path>> entries = checkpoint::entriesOf(folder);
  RECIPERUN_TRY(entries);
  std::vector<std::pair<int64_t, fs::path>> found;
  for (const fs::path& entry : *entries)
    if (auto step = checkpoint::stepOfName(entry.filename().string()))
      found.emplace_back(*step, entry);
  std::ranges::sort(found);
  std::vector<fs::path> paths;
  for (auto& [step, path] : found)
    paths.push_back(std::move(path));
  return paths;
}

/// Resolves a path to a folder of checkpoints: the path itself, or
/// `checkpoints` in the folder of a run.
Expected<fs::path> folderOf(const fs::path& path) {
  using checkpoint::FolderKind;
  const checkpoint::Folder looked = checkpoint::lookAt(path);
  if (looked.kind == FolderKind::missing || looked.kind == FolderKind::file)
    return Status::error(checkpoint::describe(path, looked));
  const fs::path below = path / "checkpoints";
  for (const fs::path& folder : {path, below}) {
    if (folder == below && !isFolder(below))
      continue;
    auto steps = stepsIn(folder);
    RECIPERUN_TRY(steps);
    if (!steps->empty())
      return folder;
  }
  if (looked.kind == FolderKind::run)
    return Status::error(checkpoint::describe(path, looked) + ": " +
                         checkpoint::howToSave());
  if (looked.kind != FolderKind::other)
    return Status::error(checkpoint::describe(path, looked) +
                         ": name the folder of a run or of its checkpoints");
  return Status::error("`" + path.string() +
                       "` has no checkpoints: neither it nor a `checkpoints` "
                       "in it has a folder `step-...`");
}

/// The paths of all checkpoints that a path refers to, sorted by step.
Expected<std::vector<fs::path>> checkpointsOf(const fs::path& path) {
  if (checkpoint::isCheckpoint(path))
    return std::vector<fs::path>{path};
  Expected<fs::path> folder = folderOf(path);
  RECIPERUN_TRY(folder);
  return stepsIn(*folder);
}

// ---- list

std::string layoutText(const std::vector<plan::Axis>& mesh) {
  std::string text;
  for (const plan::Axis& axis : mesh)
    if (axis.size > 1)
      text += (text.empty() ? "" : " x ") + axis.name + " " +
              std::to_string(axis.size);
  return mesh.empty() ? "converted" : text.empty() ? "1 rank" : text;
}

std::string textOfTime(std::time_t time) {
  std::tm parts = {};
  localtime_r(&time, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S", &parts);
  return text;
}

/// What the files of a checkpoint tell.
struct CheckpointFiles {
  int64_t bytes = 0;       // of all files, as far as they are accessible
  std::string saved = "-"; // when the manifest, the last file, was written
};

CheckpointFiles filesInStore(const fs::path& checkpoint) {
  CheckpointFiles found;
  Expected<RemoteFiles*> files = remoteFilesOf(checkpoint);
  if (!files)
    return found;
  const auto entries =
      (*files)->list(checkpoint.string(), RemoteFiles::Depth::entries);
  if (!entries)
    return found;
  for (const RemoteEntry& entry : *entries) {
    found.bytes += entry.bytes;
    if (entry.name == checkpoint::manifestName)
      found.saved = textOfTime(std::time_t(entry.modified));
  }
  return found;
}

CheckpointFiles filesOf(const fs::path& checkpoint) {
  if (isAddress(checkpoint))
    return filesInStore(checkpoint);
  CheckpointFiles found;
  std::error_code code;
  const auto entries = checkpoint::entriesOf(checkpoint);
  for (const fs::path& path : entries ? *entries : std::vector<fs::path>())
    if (fs::is_regular_file(path, code))
      found.bytes += int64_t(fs::file_size(path, code));
  struct stat facts = {};
  if (stat((checkpoint / checkpoint::manifestName).c_str(), &facts) == 0)
    found.saved = textOfTime(facts.st_mtime);
  return found;
}

const char* nameOf(Condition condition) {
  switch (condition) {
  case Condition::whole:
    return "whole";
  case Condition::damaged:
    return "damaged";
  case Condition::unreadable:
    return "unreadable";
  }
  return "";
}

struct ListedCheckpoint {
  fs::path path;
  Examined examined;
  std::string saved;
  int64_t bytes = 0;
};

Json jsonOf(const ListedCheckpoint& row) {
  Json json = {{"path", row.path.string()},
               {"saved", row.saved},
               {"bytes", row.bytes},
               {"condition", nameOf(row.examined.condition)}};
  if (const auto& manifest = row.examined.manifest) {
    json["step"] = manifest->position.step;
    json["samples"] = manifest->position.samples;
    json["serial"] = manifest->serial;
    json["recipe"] = manifest->recipe;
    json["layout"] = layoutText(manifest->mesh);
    if (manifest->validLoss)
      json["valid_loss"] = *manifest->validLoss;
  }
  if (!row.examined.reason.empty())
    json["reason"] = row.examined.reason;
  return json;
}

void print(const ListedCheckpoint& row) {
  char loss[32] = "-";
  std::string layout = "-";
  if (const auto& manifest = row.examined.manifest) {
    layout = layoutText(manifest->mesh);
    if (manifest->validLoss)
      std::snprintf(loss, sizeof loss, "%.6g", *manifest->validLoss);
  }
  const std::string& reason = row.examined.reason;
  std::printf("%-16s %-20s %10s %10s  %-20s %s%s%s\n",
              row.path.filename().c_str(), row.saved.c_str(),
              bytesText(row.bytes).c_str(), loss, layout.c_str(),
              nameOf(row.examined.condition), reason.empty() ? "" : ": ",
              reason.c_str());
}

int list(const CheckpointArguments& line, const std::vector<fs::path>& paths) {
  Json all = Json::array();
  if (!line.json)
    std::printf("%-16s %-20s %10s %10s  %-20s %s\n", "checkpoint", "saved",
                "size", "valid_loss", "layout", "state");
  for (const fs::path& path : paths) {
    const CheckpointFiles files = filesOf(path);
    const ListedCheckpoint row{path, checkpoint::examine(path), files.saved,
                               files.bytes};
    if (line.json)
      all.push_back(jsonOf(row));
    else
      print(row);
  }
  if (line.json)
    std::printf("%s\n", all.dump(2).c_str());
  return 0;
}

// ---- verify

/// A progress line that is redrawn on a terminal.
class VerifyLine {
public:
  void operator()(int64_t done, int64_t all) {
    const auto now = std::chrono::steady_clock::now();
    if (!isatty(STDERR_FILENO) || now < next)
      return;
    next = now + std::chrono::milliseconds(100);
    std::fprintf(stderr, "\r\033[K%s of %s", bytesText(done).c_str(),
                 bytesText(all).c_str());
  }
  ~VerifyLine() {
    if (next != std::chrono::steady_clock::time_point())
      std::fputs("\r\033[K", stderr);
  }

private:
  std::chrono::steady_clock::time_point next;
};

checkpoint::Verified verifyWithProgress(const fs::path& path) {
  VerifyLine progress;
  return checkpoint::verify(
      path, [&](int64_t done, int64_t all) { progress(done, all); });
}

void print(const fs::path& path, const checkpoint::Verified& found,
           double seconds) {
  std::string told = "`" + path.string() + "` is " + nameOf(found.condition);
  if (found.checkedBytes > 0) {
    char speed[64];
    std::snprintf(speed, sizeof speed, " in %.2f s (%.2f GB/s)", seconds,
                  double(found.checkedBytes) / seconds / 1e9);
    told += ", " + bytesText(found.checkedBytes) +
            " compared with their checksums" + speed;
  }
  if (found.uncheckedBytes > 0)
    told += ", " + bytesText(found.uncheckedBytes) +
            " read and compared with nothing: checkpoints had no checksums "
            "when it was saved";
  std::printf("%s\n", told.c_str());
  for (const std::string& finding : found.findings)
    std::printf("  %s\n", finding.c_str());
}

int verify(const CheckpointArguments& line,
           const std::vector<fs::path>& paths) {
  Json all = Json::array();
  Condition worst = Condition::whole;
  for (const fs::path& path : paths) {
    const auto begin = std::chrono::steady_clock::now();
    const checkpoint::Verified found = verifyWithProgress(path);
    const std::chrono::duration<double> seconds =
        std::chrono::steady_clock::now() - begin;
    worst = std::max(worst, found.condition);
    if (!line.json)
      print(path, found, seconds.count());
    else
      all.push_back({{"path", path.string()},
                     {"condition", nameOf(found.condition)},
                     {"checked_bytes", found.checkedBytes},
                     {"unchecked_bytes", found.uncheckedBytes},
                     {"seconds", seconds.count()},
                     {"findings", found.findings}});
  }
  if (line.json)
    std::printf("%s\n", all.dump(2).c_str());
  return worst == Condition::whole ? 0 : 1;
}

// ---- prune

/// Takes the locks that a training run holds while it saves to the folder.
Expected<std::vector<checkpoint::FolderLock>> lockAll(const fs::path& folder) {
  std::vector<fs::path> files = {checkpoint::checkpointsLockFile(folder)};
  const fs::path run = checkpoint::runLockFile(files[0].parent_path());
  std::error_code code;
  if (fs::exists(run, code))
    files.push_back(run);
  std::vector<checkpoint::FolderLock> locks;
  for (const fs::path& file : files) {
    auto lock = checkpoint::FolderLock::take(file, "`" + folder.string() + "`");
    RECIPERUN_TRY(lock);
    locks.push_back(*std::move(lock));
  }
  return locks;
}

Status prune(const CheckpointArguments& line) {
  Expected<fs::path> path = folderOf(line.paths[0]);
  RECIPERUN_TRY(path);
  std::vector<checkpoint::FolderLock> locks;
  if (!line.dryRun && !isAddress(*path)) {
    auto taken = lockAll(*path);
    RECIPERUN_TRY(taken);
    locks = *std::move(taken);
  }
  CheckpointFolder folder(*path);
  RECIPERUN_TRY(folder.open());
  const Keep keep{line.keepLast, line.keepTop};
  const std::vector<int64_t> removed = folder.superfluous(keep);
  std::vector<std::string> lines;
  for (int64_t step : folder.steps()) {
    const bool goes = std::ranges::binary_search(removed, step);
    const fs::path each = folder.checkpoint(step);
    lines.push_back((!goes         ? "keeps `"
                     : line.dryRun ? "would remove `"
                                   : "removed `") +
                    each.string() + "` (" + bytesText(filesOf(each).bytes) +
                    ")");
  }
  for (const CheckpointFolder::Fault& fault : folder.faults())
    lines.push_back("keeps `" + folder.checkpoint(fault.step).string() +
                    "`, which is " + nameOf(fault.condition) + ": " +
                    fault.reason);
  if (!line.dryRun)
    folder.prune(keep);
  for (const std::string& each : lines)
    std::printf("%s\n", each.c_str());
  const std::vector<std::string> leftovers = folder.takeLeftovers();
  return leftovers.empty() ? Status::ok() : Status::error(leftovers.front());
}

// ---- diff

/// Resolves a path to a checkpoint: the path itself, or the newest one of a
/// run.
Expected<fs::path> newestOf(const fs::path& path) {
  if (checkpoint::isCheckpoint(path))
    return path;
  Expected<fs::path> found = folderOf(path);
  RECIPERUN_TRY(found);
  CheckpointFolder folder(*found);
  RECIPERUN_TRY(folder.open());
  RECIPERUN_TRY(folder.checkNewest());
  return folder.checkpoint(*folder.newest());
}

Status diff(const CheckpointArguments& line) {
  Expected<fs::path> a = newestOf(line.paths[0]);
  RECIPERUN_TRY(a);
  Expected<fs::path> b = newestOf(line.paths[1]);
  RECIPERUN_TRY(b);
  return printDifferences(*a, *b, {line.json, line.all});
}

int fail(const Status& status, int code) {
  std::fprintf(stderr, "error: %s\n", status.message().c_str());
  return code;
}

int exitCode(const Status& status) {
  return status.isOk() ? 0 : fail(status, 1);
}

/// Runs `list` or `verify` on each checkpoint that the path refers to.
int runOnAll(const CheckpointArguments& line,
             int (*part)(const CheckpointArguments&,
                         const std::vector<fs::path>&)) {
  Expected<std::vector<fs::path>> paths = checkpointsOf(line.paths[0]);
  return paths ? part(line, *paths) : fail(paths.status(), 1);
}

// ---- the command line

/// The arguments of a call; `run` keeps them alive.
using Line = std::shared_ptr<CheckpointArguments>;

cli::Operands oneFolder(const Line& line) {
  return {1, 1, "a folder", &line->paths, /*takeAddresses=*/true};
}

cli::Option jsonOption(const Line& line) {
  return cli::flag("--json", "print JSON", line->json);
}

cli::Command listCommand(const Line& line) {
  return {.name = "list",
          .synopsis = "DIR [--json]",
          .summary = "step, time, size, validation loss, layout and state of "
                     "each checkpoint",
          .details = "Lists the checkpoints in DIR, a run's folder, its folder "
                     "of checkpoints, or one checkpoint: step, time, size, "
                     "validation loss, the layout that wrote them, and whether "
                     "manifest and sizes are whole.",
          .options = {jsonOption(line)},
          .operands = oneFolder(line),
          .run = [line] { return runOnAll(*line, list); }};
}

cli::Command verifyCommand(const Line& line) {
  return {.name = "verify",
          .synopsis = "DIR [--json]",
          .summary = "compare each file with its checksums; exit 1 where some "
                     "differ",
          .details = "Reads every file of the checkpoints in DIR, a run's "
                     "folder, its folder of checkpoints, or one checkpoint, "
                     "and compares it with its checksums. Names the file, "
                     "tensor and bytes that differ, and exits 1 where some do.",
          .options = {jsonOption(line)},
          .operands = oneFolder(line),
          .run = [line] { return runOnAll(*line, verify); }};
}

cli::Check checkPrune(const CheckpointArguments& line) {
  if (line.keepLast + line.keepTop > 0)
    return std::nullopt;
  return cli::UsageError{
      "`reciperun checkpoint prune` removes no run's last checkpoint: say how "
      "many stay, with `--keep-last` or `--keep-top`",
      "write `reciperun checkpoint prune DIR --keep-last=3`, say"};
}

cli::Command pruneCommand(const Line& line) {
  return {.name = "prune",
          .synopsis = "DIR [--keep-last=N] [--keep-top=N] [--dry-run]",
          .summary = "remove all checkpoints but some",
          .details = "Removes whole checkpoints from DIR, a run's folder or "
                     "its folder of checkpoints. What is damaged stays.",
          .options = {cli::number("--keep-last", "N",
                                  "the N checkpoints saved last stay", 0,
                                  line->keepLast),
                      cli::number("--keep-top", "N",
                                  "the N checkpoints of lowest validation loss "
                                  "stay",
                                  0, line->keepTop),
                      cli::flag("--dry-run", "tell what would be removed",
                                line->dryRun)},
          .operands = oneFolder(line),
          .check = [line] { return checkPrune(*line); },
          .run = [line] { return exitCode(prune(*line)); }};
}

cli::Command diffCommand(const Line& line) {
  return {.name = "diff",
          .synopsis = "A B [--all] [--json]",
          .summary = "compare two checkpoints of any layouts",
          .details = "Compares two checkpoints of any layouts: their settings, "
                     "and the parameters that differ most. A and B are "
                     "checkpoints, or runs, whose newest ones are compared.",
          .options = {cli::flag("--all", "print all parameters that differ",
                                line->all),
                      jsonOption(line)},
          .operands = {2, 2, "two checkpoints", &line->paths,
                       /*takeAddresses=*/true},
          .run = [line] { return exitCode(diff(*line)); }};
}

} // namespace

cli::Command checkpointCommand() {
  const auto line = std::make_shared<CheckpointArguments>();
  return {.name = "checkpoint",
          .synopsis = "COMMAND ARGUMENTS",
          .summary = "list, verify, prune, compare and copy the checkpoints of "
                     "a run",
          .details = "Works on the checkpoints of a run while no job has them. "
                     "DIR is a run's folder, its folder of checkpoints, or one "
                     "checkpoint, on a disk or at `s3://BUCKET/PREFIX`.",
          .subcommands = {listCommand(line), verifyCommand(line),
                          pruneCommand(line), diffCommand(line),
                          checkpointCopyCommand()}};
}

} // namespace reciperun::train
