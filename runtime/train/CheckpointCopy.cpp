// For each checkpoint of the source:
//   1. read its manifest, and compare the files' sizes with it;
//   2. copy all other files;
//   3. put the manifest, if there is none: only now the copy is a checkpoint.
// A copy that was interrupted has no manifest. The next one finds the files
// that have arrived and copies the others.

#include "runtime/train/CheckpointCopy.h"

#include "runtime/base/StopSignal.h"
#include "runtime/base/Text.h"
#include "runtime/checkpoint/CheckpointFolder.h"
#include "runtime/checkpoint/Manifest.h"
#include "runtime/cli/Options.h"
#include "runtime/storage/CopyObjects.h"
#include "runtime/storage/ObjectStore.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <unistd.h>

namespace reciperun::train {
namespace {

using checkpoint::manifestName;
using storage::Object;
using storage::ObjectStore;

struct CopyArguments {
  std::vector<std::string> paths; // source and target
  int parallel = 8;
};

/// A line about the copy's progress: redrawn on a terminal, elsewhere written
/// twice a minute.
class CopyLine {
public:
  void operator()(int64_t done, int64_t all) {
    const auto now = std::chrono::steady_clock::now();
    if (now < next)
      return;
    next = now + (isTerminal ? std::chrono::milliseconds(100)
                             : std::chrono::milliseconds(30000));
    std::fprintf(stderr, isTerminal ? "\r\033[K%s of %s" : "%s of %s\n",
                 bytesText(done).c_str(), bytesText(all).c_str());
    isDrawn = isTerminal;
  }
  ~CopyLine() {
    if (isDrawn)
      std::fputs("\r\033[K", stderr);
  }

private:
  const bool isTerminal = isatty(STDERR_FILENO);
  bool isDrawn = false;
  std::chrono::steady_clock::time_point next =
      std::chrono::steady_clock::now() + std::chrono::milliseconds(500);
};

// ---- which checkpoints

std::string lastName(const std::string& name) {
  return name.substr(name.rfind('/') + 1);
}

/// The folders `step-...` in a folder of the store, sorted.
Expected<std::vector<std::string>> stepFolders(ObjectStore& store,
                                               const std::string& folder) {
  auto listing = store.list(folder);
  RECIPERUN_TRY(listing);
  std::vector<std::string> steps;
  for (const std::string& each : listing->folders)
    if (checkpoint::stepOfName(lastName(each)))
      steps.push_back(each);
  return steps;
}

/// The complete checkpoints of a store: itself (an empty name), or folders in
/// it or in its `checkpoints`.
Expected<std::vector<std::string>> checkpointsIn(ObjectStore& store) {
  const auto own = store.find(manifestName);
  RECIPERUN_TRY(own);
  if (*own)
    return std::vector<std::string>{""};
  for (const char* folder : {"", "checkpoints"}) {
    const auto steps = stepFolders(store, folder);
    RECIPERUN_TRY(steps);
    std::vector<std::string> complete;
    for (const std::string& step : *steps) {
      const auto manifest = store.find(step + "/" + manifestName);
      RECIPERUN_TRY(manifest);
      if (*manifest)
        complete.push_back(step);
      else
        std::fprintf(stderr, "note: `%s` has no %s and is not copied\n",
                     store.textOf(step).c_str(), manifestName);
    }
    if (!complete.empty())
      return complete;
  }
  return Status::error("`" + store.root() +
                       "` has no checkpoint: neither it nor a folder "
                       "`step-...` in it or in its `checkpoints` has a " +
                       manifestName);
}

// ---- one checkpoint

/// The files of a checkpoint without its manifest. Fails when one that the
/// manifest names is missing or of another size.
Expected<std::vector<Object>> savedFiles(ObjectStore& store,
                                         const checkpoint::Manifest& manifest) {
  auto objects = store.listAll("");
  RECIPERUN_TRY(objects);
  std::erase_if(*objects,
                [](const Object& each) { return each.name == manifestName; });
  for (const checkpoint::SavedFile& file : manifest.files) {
    const auto found = std::ranges::find(*objects, file.name, &Object::name);
    if (found == objects->end())
      return Status::error("`" + store.textOf(file.name) +
                           "` is missing; copy another checkpoint");
    if (found->bytes != file.bytes)
      return Status::error(
          "`" + store.textOf(file.name) + "` has " +
          std::to_string(found->bytes) + " bytes, the manifest says " +
          std::to_string(file.bytes) + "; copy another checkpoint");
  }
  return objects;
}

/// Checks that the target is free for a checkpoint or holds the same one.
/// Returns whether its manifest is there.
Expected<bool> hasManifest(ObjectStore& target, const std::string& manifest) {
  const auto found = target.find(manifestName);
  RECIPERUN_TRY(found);
  if (*found) {
    const auto text = target.readText(manifestName, checkpoint::manifestLimit);
    RECIPERUN_TRY(text);
    if (*text == manifest)
      return true;
    return Status::error("`" + target.root() +
                         "` is another checkpoint; remove it, or name another "
                         "target");
  }
  const auto steps = stepFolders(target, "");
  RECIPERUN_TRY(steps);
  if (!steps->empty())
    return Status::error("`" + target.root() +
                         "` is a folder of checkpoints; name the copy's own "
                         "folder, such as `" +
                         target.textOf("step-00000001") + "`");
  return false;
}

Status putManifest(ObjectStore& target, const std::string& manifest) {
  const auto put =
      target.put(manifestName, manifest, storage::Precondition::absent());
  if (put || put.status().code() != StatusCode::alreadyExists)
    return put.status();
  // Another copy may have been faster.
  return hasManifest(target, manifest).status();
}

void report(const ObjectStore& from, const ObjectStore& to,
            const storage::CopyResult& result, double seconds) {
  std::string text = "copied `" + from.root() + "` to `" + to.root() +
                     "`: " + std::to_string(result.objects + 1) + " files, " +
                     bytesText(result.bytes);
  if (result.keptObjects > 0)
    text += ", of which " + std::to_string(result.keptObjects) +
            " files were there";
  if (result.copiedBytes > 0)
    text += formatted(", in %.2f s (%.2f GB/s)", seconds,
                      double(result.copiedBytes) / seconds / 1e9);
  std::printf("%s\n", text.c_str());
}

Status copyCheckpoint(ObjectStore& from, ObjectStore& to, int parallel) {
  const auto begin = std::chrono::steady_clock::now();
  const auto text = from.readText(manifestName, checkpoint::manifestLimit);
  RECIPERUN_TRY(text);
  const auto manifest = checkpoint::parseManifest(*text);
  RECIPERUN_TRY(
      manifest.status().withContext("`" + from.textOf(manifestName) + "`"));
  const auto files = savedFiles(from, *manifest);
  RECIPERUN_TRY(files);
  const auto isThere = hasManifest(to, *text);
  RECIPERUN_TRY(isThere);
  CopyLine line;
  storage::CopyOptions options;
  options.parallel = parallel;
  options.progress = [&](int64_t done, int64_t all) { line(done, all); };
  options.goesOn = checkStopSignal;
  const auto result = storage::copyObjects(from, to, *files, options);
  RECIPERUN_TRY(result);
  if (!*isThere)
    RECIPERUN_TRY(putManifest(to, *text));
  const std::chrono::duration<double> seconds =
      std::chrono::steady_clock::now() - begin;
  report(from, to, *result, seconds.count());
  return Status::ok();
}

Status copyAll(const CopyArguments& line) {
  const auto source = storage::openStore(line.paths[0]);
  RECIPERUN_TRY(source);
  const auto names = checkpointsIn(**source);
  RECIPERUN_TRY(names);
  for (const std::string& name : *names) {
    const auto from = storage::openStore((*source)->textOf(name));
    RECIPERUN_TRY(from);
    const auto root = storage::openStore(line.paths[1]);
    RECIPERUN_TRY(root);
    const auto to = storage::openStore((*root)->textOf(lastName(name)));
    RECIPERUN_TRY(to);
    if ((*from)->root() == (*to)->root())
      return Status::error("source and target are the same, `" + (*to)->root() +
                           "`");
    RECIPERUN_TRY(copyCheckpoint(**from, **to, line.parallel));
  }
  return Status::ok();
}

int runCopy(const CopyArguments& line) {
  watchStopSignals();
  const Status status = copyAll(line);
  if (status.isOk())
    return 0;
  std::fprintf(stderr, "error: %s\n", status.message().c_str());
  return stopSignal() == 0 ? 1 : 128 + stopSignal();
}

} // namespace

cli::Command checkpointCopyCommand() {
  const auto line = std::make_shared<CopyArguments>();
  return {
      .name = "copy",
      .synopsis = "SOURCE TARGET [--parallel=N]",
      .summary = "copy checkpoints between folders and object stores",
      .details =
          "Copies a checkpoint, or all complete ones of a run or a folder of "
          "checkpoints. SOURCE and TARGET are folders or addresses "
          "`s3://BUCKET/PREFIX`. One checkpoint becomes TARGET itself, those "
          "of "
          "a folder become TARGET/step-N.\n\nThe manifest is written last, so "
          "that an interrupted copy is no checkpoint. The same command copies "
          "what is missing. An existing checkpoint is never replaced.",
      .options = {cli::number("--parallel", "N",
                              "parts that are copied at once, by default 8", 1,
                              line->parallel)},
      .operands = {2, 2, "a source and a target", &line->paths,
                   /*takeAddresses=*/true},
      .run = [line] { return runCopy(*line); }};
}

} // namespace reciperun::train
