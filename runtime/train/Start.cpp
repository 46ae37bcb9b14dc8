// 1. Rank 0 finds the last saved checkpoint and tells the others its step, so
//    that all ranks start from the same one.
// 2. Every rank reads the manifest and checks it against the plan's model.
// 3. The data continue at the saved position. It is the number of rows that the
//    steps have consumed, which a changed global batch must divide.
// 4. Rank 0 compares the saved settings with those of this run.

#include "runtime/train/Start.h"

#include "runtime/checkpoint/FolderKind.h"
#include "runtime/train/Settings.h"

#include <algorithm>

namespace reciperun::train {
namespace {

namespace fs = std::filesystem;

using checkpoint::Setting;
using checkpoint::StateReader;
using checkpoint::Take;

constexpr const char* nameOne =
    "name the checkpoint to evaluate with `--checkpoint`";

std::string backticked(const std::string& text) {
  return "`" + text + "`";
}

void compare(const char* name, int64_t there, int64_t here,
             std::vector<Change>& changes) {
  if (here != there)
    changes.push_back({name, std::to_string(there), std::to_string(here)});
}

/// The settings that changed since the checkpoint. A resumed run may use other
/// settings, but the user should notice: for example, the data continue after
/// as many rows as were consumed, even if those were rows of other data.
/// Manifests without settings only have the seeds.
std::vector<Change> changesSince(const checkpoint::Manifest& saved,
                                 const checkpoint::Position& here,
                                 const std::vector<Setting>& settings) {
  std::vector<Change> changes;
  const checkpoint::Position& there = saved.position;
  if (!saved.settings.empty())
    changes = changesOf(saved.settings, settings);
  if (saved.settings.empty()) {
    compare("data.seed", there.dataSeed, here.dataSeed, changes);
    compare("train.seed", there.trainSeed, here.trainSeed, changes);
  }
  compare("data.train (rows)", there.epochRows, here.epochRows, changes);
  return changes;
}

/// Fails when the tokenizer changed: the same ids would stand for other tokens
/// than those on which the weights were trained.
Status checkTokenizer(const plan::Plan& plan, const std::string& path,
                      const std::vector<Change>& changes) {
  for (const Change& change : changes)
    if (change.name == checkpoint::tokenizerSetting && !change.before.empty() &&
        plan::readsText(plan.data))
      return Status::error(
          "the tokenizer `" + plan.data.tokenizer + "` is not the one that " +
          backticked(path) +
          " was trained with, of which `tokenizer.json` there is a copy: give "
          "the recipe that one, or start a run of its own from the checkpoint "
          "with `weights`");
  return Status::ok();
}

std::string textOf(const std::vector<Change>& changes,
                   const std::string& path) {
  if (changes.empty())
    return {};
  // Users who continue training raise the number of steps.
  const bool isExpected =
      std::ranges::all_of(changes, [](const Change& change) {
        return change.name == "train.steps" || change.name == "train.epochs";
      });
  std::string text = std::string(isExpected ? "note" : "warning") +
                     ": settings differ from those that saved " +
                     backticked(path) + "; the run goes on with the new ones:";
  for (const Change& change : changes)
    text += "\n  " + change.text();
  return text;
}

/// Accepts `step-500` for the checkpoint `step-00000500`, and the name alone
/// of one of the run's own checkpoints, as `reciperun checkpoint list` prints
/// it.
std::string namedCheckpoint(const std::string& path, const fs::path& own) {
  const fs::path written = path;
  std::optional<int64_t> step =
      checkpoint::stepOfName(written.filename().string());
  if (!step || checkpoint::isCheckpoint(written))
    return path;
  const bool isName = !written.has_parent_path();
  for (const fs::path& folder : {written.parent_path(), own}) {
    const fs::path found =
        checkpoint::CheckpointFolder(folder).checkpoint(*step);
    if (checkpoint::isCheckpoint(found))
      return found.string();
    if (!isName)
      break;
  }
  return path;
}

/// The error for a path that is no checkpoint: says what it is, and names the
/// last checkpoint in it, or the run's own.
Status noCheckpoint(const std::string& setting, const std::string& path,
                    const fs::path& own) {
  using checkpoint::FolderKind;
  const checkpoint::Folder folder = checkpoint::lookAt(path);
  std::string message =
      backticked(setting) + ": " + checkpoint::describe(path, folder);
  if (folder.kind == FolderKind::model || folder.kind == FolderKind::adapter)
    message += ", and no checkpoint";
  else if (folder.newest.empty() && folder.kind != FolderKind::missing)
    message += "; a checkpoint has a " + backticked(checkpoint::manifestName);
  const checkpoint::Folder ours = checkpoint::lookAt(own);
  if (folder.newest.empty() && !ours.newest.empty())
    message +=
        "; the run's last checkpoint is " + backticked(ours.newest.string());
  return Status::error(message);
}

/// Returns the number of finished steps, in global batches of this run. Fails
/// when the checkpoint has no moments or its rows do not fit the global batch.
Expected<int64_t> checkPosition(const plan::Plan& plan,
                                const data::Loader& data,
                                const StateReader& source) {
  std::string path = source.path().string();
  const checkpoint::Position& there = source.manifest().position;
  checkpoint::Position here = positionAfter(plan, data, 0);
  if (!source.manifest().hasMoments())
    return Status::error(backticked(path) +
                         " holds weights and no moments to go "
                         "on with; start from it with "
                         "`weights`");
  if (there.rows % here.globalBatch != 0)
    return Status::error(
        "`batch.global` = " + std::to_string(here.globalBatch) +
        " does not divide the " + std::to_string(there.rows) +
        " rows that the " + std::to_string(there.step) + " steps of " +
        backticked(path) + " have taken; take the global batch of that run");
  return there.rows / here.globalBatch;
}

/// Opens a checkpoint to load its weights or all of its state.
Expected<Start> open(const plan::Plan& plan, const std::string& path,
                     Take take) {
  Expected<StateReader> reader = StateReader::open(path);
  RECIPERUN_TRY(reader);
  RECIPERUN_TRY(checkpoint::checkModel(plan, *reader, take));
  Start start;
  start.take = take;
  start.source = *std::move(reader);
  return start;
}

/// The remedy when the recipe no longer fits the last checkpoint of the run;
/// empty unless `checkpoint.resume` is `"auto"`. As this is the default, users
/// may not know that the run resumes.
std::string wayOutOf(const std::string& resume) {
  if (resume != "auto")
    return {};
  return "; the run goes on from its last checkpoint as `checkpoint.resume` is "
         "`\"auto\"`: to begin anew, give it another `train.dir` or "
         "`checkpoint.resume = \"never\"`";
}

/// Opens a checkpoint to resume. Only rank 0 has the settings.
Expected<Start> resume(const plan::Plan& plan, const data::Loader& data,
                       const std::string& path, bool isRoot,
                       const std::vector<Setting>& settings) {
  Expected<Start> start = open(plan, path, Take::all);
  if (!start && plan.checkpoint.resumesFromPath())
    return start.status().withRemedy("name another checkpoint as "
                                     "`checkpoint.resume`, or leave it out");
  if (!start)
    return Status::error(start.message() + wayOutOf(plan.checkpoint.resume));
  Expected<int64_t> step = checkPosition(plan, data, *start->source);
  if (!step)
    return Status::error(step.message() + wayOutOf(plan.checkpoint.resume));
  start->step = *step;
  start->mayFallBack = plan.checkpoint.resume == "auto";
  if (!isRoot)
    return start;
  const std::vector<Change> changes = changesSince(
      start->source->manifest(), positionAfter(plan, data, 0), settings);
  RECIPERUN_TRY(checkTokenizer(plan, path, changes));
  start->changes = textOf(changes, path);
  return start;
}

/// Returns the path of the checkpoint that the user named. `own` has the
/// checkpoints of the run.
Expected<std::string> namedPath(comm::Communicator& communicator,
                                const checkpoint::CheckpointFolder& own,
                                const std::string& setting,
                                const std::string& name) {
  std::string path = namedCheckpoint(name, own.path());
  bool isThere = checkpoint::isCheckpoint(path);
  RECIPERUN_TRY(communicator.agree(
      isThere ? Status::ok() : noCheckpoint(setting, name, own.path())));
  return path;
}

/// Returns the path of the last saved checkpoint; empty when there is none.
/// When it cannot be determined, fails with the advice `wayOut`.
Expected<std::string> newestPath(comm::Communicator& communicator,
                                 const checkpoint::CheckpointFolder& folder,
                                 const std::string& wayOut) {
  Status isKnown =
      communicator.rank() == 0 ? folder.checkNewest() : Status::ok();
  if (!isKnown.isOk())
    isKnown = Status::error(isKnown.message() + "; " + wayOut);
  RECIPERUN_TRY(communicator.agree(isKnown));
  // Other ranks use rank 0's step, because their view of a network file system
  // may lag behind.
  Expected<int64_t> step = communicator.maximum(folder.newest().value_or(-1));
  RECIPERUN_TRY(step);
  return *step < 0 ? std::string() : folder.checkpoint(*step).string();
}

/// Returns the path to resume from; empty when there is none.
Expected<std::string> resumedPath(const plan::Plan& plan,
                                  comm::Communicator& communicator,
                                  const checkpoint::CheckpointFolder& folder) {
  const std::string& resume = plan.checkpoint.resume;
  if (resume == "never")
    return std::string();
  return resume == "auto"
             ? newestPath(communicator, folder, unreadableWayOut)
             : namedPath(communicator, folder, "checkpoint.resume", resume);
}

/// Fails when a checkpoint newer than the newest complete one is damaged: the
/// older weights would be mistaken for the newest.
Status checkUndamaged(const checkpoint::CheckpointFolder& folder) {
  for (const checkpoint::CheckpointFolder::Fault& fault : folder.faults())
    if (fault.step > folder.newest().value_or(-1))
      return Status::error("checkpoint " +
                           backticked(folder.checkpoint(fault.step).string()) +
                           " is damaged: " + fault.reason + "; " + nameOne);
  return Status::ok();
}

} // namespace

checkpoint::Position positionAfter(const plan::Plan& plan,
                                   const data::Loader& data, int64_t step) {
  bool isEndless = plan.data.train->kind == "mock";
  checkpoint::Position position;
  position.step = step;
  position.globalBatch = data.globalBatch();
  position.rows = step * position.globalBatch;
  position.samples = data.samplesBefore(step);
  position.epoch = data.epochsBefore(step);
  position.dataSeed = plan.data.seed;
  position.trainSeed = plan.train.seed;
  position.epochRows = isEndless ? -1 : data.rowsOfEpoch(0);
  return position;
}

Expected<Start> findStart(const plan::Plan& plan,
                          comm::Communicator& communicator,
                          const checkpoint::CheckpointFolder& folder,
                          const data::Loader& data,
                          const std::vector<Setting>& settings) {
  Expected<std::string> resumed = resumedPath(plan, communicator, folder);
  RECIPERUN_TRY(resumed);
  const std::string& weights = plan.exchange.weights;
  Expected<Start> start = Start();
  if (!resumed->empty())
    start = resume(plan, data, *resumed, communicator.rank() == 0, settings);
  else if (checkpoint::isCheckpoint(weights))
    start = open(plan, weights, Take::weights);
  else
    start->directory = weights;
  RECIPERUN_TRY(communicator.agree(start.status()));
  return start;
}

Expected<Start> findWeights(const plan::Plan& plan,
                            comm::Communicator& communicator,
                            const checkpoint::CheckpointFolder& folder,
                            const std::string& wanted) {
  bool isNamed = !wanted.empty() && wanted != "latest";
  Expected<int64_t> isModel =
      communicator.maximum(isNamed && checkpoint::lookAt(wanted).kind ==
                                          checkpoint::FolderKind::model);
  RECIPERUN_TRY(isModel);
  if (*isModel) {
    Start start;
    start.directory = wanted;
    return start;
  }
  Expected<std::string> path =
      isNamed ? namedPath(communicator, folder, "--checkpoint", wanted)
              : newestPath(communicator, folder, nameOne);
  RECIPERUN_TRY(path);
  if (!isNamed)
    RECIPERUN_TRY(communicator.agree(
        communicator.rank() == 0 ? checkUndamaged(folder) : Status::ok()));
  if (path->empty() && wanted == "latest")
    return Status::error("the run has no checkpoint in " +
                         backticked(plan.checkpoint.directory));
  const std::string& weights = plan.exchange.weights;
  if (path->empty() && weights.empty())
    return Status::error("there are no weights to evaluate: the run has no "
                         "checkpoint in " +
                         backticked(plan.checkpoint.directory) +
                         ", and the recipe no `weights`; name a checkpoint "
                         "with `--checkpoint`");
  if (path->empty() && checkpoint::isCheckpoint(weights))
    path = weights;
  Expected<Start> start = Start();
  if (path->empty())
    start->directory = weights;
  else
    start = open(plan, *path, Take::weights);
  RECIPERUN_TRY(communicator.agree(start.status()));
  return start;
}

} // namespace reciperun::train
