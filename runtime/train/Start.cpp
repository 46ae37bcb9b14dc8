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

Status changed(const char* setting, int64_t here, int64_t there,
               const std::string& path) {
  return Status::error(backticked(setting) + " is " + std::to_string(here) +
                       ", and the run of " + backticked(path) + " had " +
                       std::to_string(there) +
                       ": set it back to go on, or start anew with "
                       "`checkpoint.resume = \"never\"`");
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
  if (here.dataSeed != there.dataSeed)
    return changed("data.seed", here.dataSeed, there.dataSeed, path);
  if (here.trainSeed != there.trainSeed)
    return changed("train.seed", here.trainSeed, there.trainSeed, path);
  if (here.epochRows != there.epochRows)
    return Status::error(
        "the data are not those of " + backticked(path) +
        ": the first epoch has " + std::to_string(here.epochRows) +
        " rows, and had " + std::to_string(there.epochRows) +
        "; start from its weights with `weights`, or go on with the same data");
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
    bool isThere = checkpoint::isCheckpoint(resume);
    RECIPERUN_TRY(
        communicator.agree(isThere ? Status::ok() : noCheckpoint(resume)));
    return resume;
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
