// 1. Rank 0 looks for the checkpoint that was saved last and tells the others
//    its step, so that all start from the same.
// 2. Every rank reads the manifest: what it holds must be the plan's model.
// 3. The data go on where they ended: the position is the number of rows that
//    the steps have taken, which a changed global batch must divide.

#include "runtime/train/Start.h"

namespace reciperun::train {
namespace {

using checkpoint::StateReader;
using checkpoint::Take;

std::string backticked(const std::string& text) {
  return "`" + text + "`";
}

std::string changed(const std::string& what, int64_t here, int64_t there) {
  return what + " is " + std::to_string(here) + ", and was " +
         std::to_string(there) + " when the checkpoint was saved";
}

/// What a run that goes on may change, and should not by mistake: the data then
/// go on behind as many rows as were taken, but these were others.
std::vector<std::string> changes(const checkpoint::Position& here,
                                 const checkpoint::Position& there) {
  std::vector<std::string> notes;
  if (here.dataSeed != there.dataSeed)
    notes.push_back(changed("`data.seed`", here.dataSeed, there.dataSeed));
  if (here.trainSeed != there.trainSeed)
    notes.push_back(changed("`train.seed`", here.trainSeed, there.trainSeed));
  if (here.epochRows != there.epochRows)
    notes.push_back(changed("the number of rows of `data.train`",
                            here.epochRows, there.epochRows));
  return notes;
}

/// `step-500` is the checkpoint `step-00000500`, too.
std::string namedCheckpoint(const std::string& path) {
  std::filesystem::path written = path;
  std::optional<int64_t> step =
      checkpoint::stepOfName(written.filename().string());
  if (!step || checkpoint::isCheckpoint(written))
    return path;
  return checkpoint::CheckpointFolder(written.parent_path())
      .checkpoint(*step)
      .string();
}

/// A path that is no checkpoint may be the folder of some.
Status noCheckpoint(const std::string& path) {
  std::string message = "`checkpoint.resume`: " + backticked(path) +
                        " is no checkpoint: it has no " +
                        backticked(checkpoint::manifestName);
  checkpoint::CheckpointFolder folder(path);
  if (folder.open() && folder.newest())
    message += "; its last checkpoint is " +
               backticked(folder.checkpoint(*folder.newest()).string());
  return Status::error(message);
}

/// The steps that are over, in global batches of this run.
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
        backticked(path) + " have taken");
  return there.rows / here.globalBatch;
}

Expected<Start> open(const plan::Plan& plan, const data::Loader& data,
                     const std::string& path, Take take) {
  Expected<StateReader> reader = StateReader::open(path);
  RECIPERUN_TRY(reader);
  RECIPERUN_TRY(checkpoint::checkModel(plan, *reader, take));
  Start start;
  start.take = take;
  if (take == Take::all) {
    Expected<int64_t> step = checkPosition(plan, data, *reader);
    RECIPERUN_TRY(step);
    start.step = *step;
    start.notes =
        changes(positionAfter(plan, data, 0), reader->manifest().position);
  }
  start.source = *std::move(reader);
  return start;
}

/// The path to resume from; empty where there is nothing.
Expected<std::string> resumedPath(const plan::Plan& plan,
                                  comm::Communicator& communicator,
                                  const checkpoint::CheckpointFolder& folder) {
  const std::string& resume = plan.checkpoint.resume;
  if (resume == "never")
    return std::string();
  if (resume != "auto") {
    std::string path = namedCheckpoint(resume);
    bool isThere = checkpoint::isCheckpoint(path);
    RECIPERUN_TRY(
        communicator.agree(isThere ? Status::ok() : noCheckpoint(resume)));
    return path;
  }
  // Other ranks look at the folder when rank 0 has; what they would find may
  // lag behind where its file system is a network's.
  Expected<int64_t> step = communicator.maximum(folder.newest().value_or(-1));
  RECIPERUN_TRY(step);
  return *step < 0 ? std::string() : folder.checkpoint(*step).string();
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
                          const data::Loader& data) {
  Expected<std::string> resumed = resumedPath(plan, communicator, folder);
  RECIPERUN_TRY(resumed);
  const std::string& weights = plan.exchange.weights;
  Take take = Take::all;
  std::string path = *resumed;
  if (path.empty() && !weights.empty() && checkpoint::isCheckpoint(weights)) {
    take = Take::weights;
    path = weights;
  }
  Expected<Start> start = path.empty() ? Start() : open(plan, data, path, take);
  RECIPERUN_TRY(communicator.agree(start.status()));
  return start;
}

} // namespace reciperun::train
