// Training::prepare: everything before the first step.
//
// Cheap checks come first (folders, data), so that a mistake costs only
// seconds. The pages of the arena are touched before weights are read.

#include "runtime/train/Training.h"

#include "runtime/base/Hash.h"
#include "runtime/base/StopSignal.h"
#include "runtime/checkpoint/ExportDirectory.h"
#include "runtime/checkpoint/Files.h"
#include "runtime/checkpoint/HuggingFaceCheck.h"
#include "runtime/checkpoint/HuggingFaceImport.h"
#include "runtime/checkpoint/Verify.h"
#include "runtime/data/FileHead.h"
#include "runtime/exec/Weights.h"
#include "runtime/ops/OpTable.h"
#include "runtime/plan/Mesh.h"
#include "runtime/plan/Paths.h"
#include "runtime/plan/PlanJson.h"
#include "runtime/train/Host.h"
#include "runtime/train/InputPaths.h"
#include "runtime/train/RankPlaces.h"
#include "runtime/train/Settings.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

namespace reciperun::train {
namespace {

namespace fs = std::filesystem;

/// The folder of the run in that of TensorBoard, which has the name of the
/// run's folder; empty: none.
fs::path tensorBoardFolder(const plan::Train& train) {
  return train.tensorboard.empty()
             ? fs::path()
             : fs::path(train.tensorboard) /
                   (fs::path(train.directory) / "").parent_path().filename();
}

/// What distinguishes runs in a table of them: the settings and the layout.
std::vector<std::pair<std::string, std::string>>
parametersOf(const plan::Plan& plan,
             const std::vector<checkpoint::Setting>& settings) {
  std::vector<std::pair<std::string, std::string>> parameters = {
      {"recipe", plan.name},
      {"cluster.ranks", std::to_string(plan.mesh.ranks)}};
  for (const plan::Axis& axis : plan.mesh.axes)
    parameters.emplace_back("parallel." + axis.name, std::to_string(axis.size));
  for (const checkpoint::Setting& each : settings)
    parameters.emplace_back(each.name, each.value);
  return parameters;
}

} // namespace

Training::Training(const plan::Plan& plan, Rank& rank, Options options)
    : plan(plan), stage(plan::stageOf(plan, rank.communicator->rank())),
      device(*rank.device), threads(rank.threads),
      communicator(*rank.communicator, device), options(std::move(options)),
      sets(plan, stage, communicator.rank()), spikes(plan.train),
      startTimes(rank.times), clock(stage, device, communicator),
      profiling(stage, device, clock, communicator.rank(),
                this->options.profile, this->options.timesOps) {
  if (!plan.train.logNorms.empty())
    norms.emplace(plan, communicator.rank(), plan.train.logNorms);
}

Status Training::prepare() {
  RECIPERUN_TRY(communicator.agree(checkInputPaths(plan, /*trains=*/true)));
  RECIPERUN_TRY(communicator.agree(makeDirectory()));
  RECIPERUN_TRY(communicator.agree(serveMetrics()));
  RECIPERUN_TRY(findPlaces());
  RECIPERUN_TRY(communicator.agree(watchSpotNotices()));
  RECIPERUN_TRY(drawRun());
  RECIPERUN_TRY(communicator.agree(checkAnswers()));
  RECIPERUN_TRY(unlessStopped(sets.open()));
  RECIPERUN_TRY(sets.compare(communicator));
  sets.closeTokenizer();
  RECIPERUN_TRY(communicator.agree(openCheckpoints()));
  RECIPERUN_TRY(communicator.agree(describe()));
  RECIPERUN_TRY(chooseStart());
  RECIPERUN_TRY(communicator.agree(checkWeights()));
  startTimes.mark("data and files");
  RECIPERUN_TRY(communicator.agree(takeMemory()));
  RECIPERUN_TRY(communicator.agree(openSaving()));
  startTimes.mark("memory");
  RECIPERUN_TRY(prepareKernels());
  startTimes.mark("kernels");
  if (isRoot())
    print(startReport().lines());
  RECIPERUN_TRY(fillState());
  RECIPERUN_TRY(communicator.agree(openFiles()));
  start.source.reset();
  startTimes.mark("weights");
  return Status::ok();
}

/// Determines where the run begins, from the manifests.
Status Training::chooseStart() {
  Expected<Start> found =
      findStart(plan, communicator, *checkpoints, *sets.train, settings);
  RECIPERUN_TRY(found);
  start = std::move(*found);
  if (start.resumes())
    resumed = start.source->path().string();
  return profiling.setRun({start.step, sets.train->steps()},
                          communicator.ranks());
}

/// Holds a lock until the process ends.
Status Training::lock(const fs::path& file, const std::string& inUse) {
  Expected<checkpoint::FolderLock> taken =
      checkpoint::FolderLock::take(file, inUse);
  if (!taken)
    return Status::error(taken.message() +
                         "; wait for that job or end it, or give this run "
                         "another `train.dir`");
  locks.push_back(*std::move(taken));
  return Status::ok();
}

/// Draws a random id for this job on rank 0 and shares it with all ranks.
/// Collective.
Status Training::drawRun() {
  std::random_device source;
  const uint64_t drawn = uint64_t(source()) << 32 | source();
  Expected<int64_t> shared =
      communicator.maximum(isRoot() ? int64_t(drawn >> 1) : -1);
  RECIPERUN_TRY(shared);
  runId = hexText(uint64_t(*shared));
  return Status::ok();
}

/// Collects the settings of the recipe that checkpoints store. Rank 0 reads the
/// files.
Status Training::describe() {
  if (!isRoot())
    return Status::ok();
  Expected<std::vector<checkpoint::Setting>> read = settingsOf(plan);
  RECIPERUN_TRY(read);
  settings = *std::move(read);
  return Status::ok();
}

/// Creates the folder of the run, and checks that the export can be written, so
/// that no training is lost.
Status Training::makeDirectory() {
  if (!isRoot())
    return Status::ok();
  fs::path directory = plan.train.directory;
  std::error_code failure;
  fs::create_directories(directory, failure);
  if (failure)
    return Status::error("cannot make the folder of the run, `" +
                         directory.string() +
                         "` (`train.dir`): " + failure.message() +
                         "; give `train.dir` a folder that can be written");
  RECIPERUN_TRY(lock(checkpoint::runLockFile(directory),
                     "`" + directory.string() + "` (`train.dir`)"));
  return plan.exchange.hf.empty() ? Status::ok()
                                  : checkpoint::checkWritable(plan.exchange.hf)
                                        .withContext("`export.hf`");
}

/// Starts to serve the metrics, early: a port that another program uses is
/// found before data are read.
Status Training::serveMetrics() {
  if (!isRoot() || plan.train.metricsPort == 0)
    return Status::ok();
  served = std::make_unique<TrainMetrics>(factsOf(plan, device.name()));
  Expected<std::unique_ptr<MetricsEndpoint>> opened = MetricsEndpoint::open(
      int(plan.train.metricsPort), [this] { return served->text(); });
  if (!opened)
    return opened.status()
        .withContext("`train.metrics_port`")
        .withRemedy("give the run another `train.metrics_port`, or `none`");
  endpoint = *std::move(opened);
  return Status::ok();
}

/// Finds where the ranks run if the plan looks for stragglers or spot notices.
/// Collective.
Status Training::findPlaces() {
  if (plan.train.straggler <= 0 && plan.train.spotNotices.empty())
    return Status::ok();
  auto found = placesOfRanks(device, communicator);
  RECIPERUN_TRY(found);
  places = *std::move(found);
  if (plan.train.straggler > 0)
    stragglers.emplace(plan, communicator.rank(), places);
  return Status::ok();
}

/// Asks the cloud for spot notices on one rank of each host.
Status Training::watchSpotNotices() {
  if (plan.train.spotNotices.empty())
    return Status::ok();
  const RankPlace& place = places[size_t(communicator.rank())];
  if (place.indexOnHost != 0)
    return Status::ok();
  auto opened = SpotWatch::open(plan.train.spotNotices, place.host);
  if (!opened)
    return opened.status().withContext("`train.spot_notices` = \"" +
                                       plan.train.spotNotices + "\"");
  spotWatch = *std::move(opened);
  return Status::ok();
}

/// Checks the initial weights when no checkpoint provides them.
Status Training::checkWeights() const {
  if (start.directory.empty())
    return Status::ok();
  const std::string cause = data::whyNoFolder(start.directory);
  if (!cause.empty())
    return Status::error("`weights`: cannot read `" + start.directory +
                         "`: " + cause + startOfRelative(plan, "weights"));
  return checkpoint::checkHuggingFace(plan, start.directory)
      .withContext("`weights`");
}

/// Checks that prompts can be answered after the training: the plan of the
/// exported model is for the same kind of device.
Status Training::checkAnswers() const {
  if (plan.train.prompts.empty() || plan.generation.empty())
    return Status::ok();
  Expected<plan::Plan> answering = plan::fromJson(plan.generation);
  RECIPERUN_TRY(answering);
  for (const plan::Function& function : answering->stages.front().functions)
    for (const plan::Op& op : function.ops)
      if (!device.hasKernel(op.kind))
        return Status::error("`train.prompts` cannot be answered on `" +
                             plan.device + "` yet: op `" + op.name + "` (" +
                             ops::opName(op.kind) +
                             ") has no kernel there; leave them out");
  return Status::ok();
}

/// Opens the folder of checkpoints. Only rank 0 reads its contents.
Status Training::openCheckpoints() {
  checkpoints.emplace(plan.checkpoint.directory);
  if (!isRoot())
    return Status::ok();
  if (plan.checkpoint.saves() && isAddress(checkpoints->path()))
    RECIPERUN_TRY(checkpoints->prepare().withContext("`checkpoint.dir`"));
  else if (plan.checkpoint.saves()) {
    const fs::path& folder = checkpoints->path();
    std::error_code failure;
    fs::create_directories(folder, failure);
    if (failure)
      return Status::error("cannot make `" + folder.string() +
                           "` (`checkpoint.dir`): " + failure.message() +
                           "; give `checkpoint.dir` a folder that can be "
                           "written");
    RECIPERUN_TRY(lock(checkpoint::checkpointsLockFile(folder),
                       "`" + folder.string() + "` (`checkpoint.dir`)"));
    RECIPERUN_TRY(checkpoints->prepare());
  }
  return checkpoints->open();
}

/// Writes the plan and opens the metrics once it is known that the run can
/// start. Until then the files of an earlier run stay unchanged.
Status Training::openFiles() {
  if (!isRoot())
    return Status::ok();
  fs::path directory = plan.train.directory;
  const fs::path path = directory / "plan.json";
  RECIPERUN_TRY(checkpoint::writeTextFile(
      path, plan::toJson(plan::writtenTo(path.string(), plan))));
  RunBegin begin{.step = start.step,
                 .steps = sets.train->steps(),
                 .samples = 0,
                 .checkpoint = start.resumes() ? resumed : std::string(),
                 .time = startTime};
  if (start.resumes())
    begin.samples = start.source->manifest().position.samples;
  Expected<RunRecorder> opened =
      RunRecorder::open({.run = directory,
                         .tensorboard = tensorBoardFolder(plan.train),
                         .mlflow = plan.train.mlflow,
                         .parameters = parametersOf(plan, settings)},
                        begin, served.get());
  RECIPERUN_TRY(opened);
  recorder = *std::move(opened);
  for (double loss : recorder->earlierLosses())
    spikes.take(loss);
  if (!recorder->note().empty())
    progress->line("warning: " + recorder->note());
  return Status::ok();
}

/// Returns the combined result of reading the data on all ranks, or a failure
/// when a signal ended it. Collective.
Status Training::unlessStopped(const Status& mine) {
  const Status all = communicator.agree(mine);
  Expected<int64_t> number = communicator.maximum(stopSignal());
  RECIPERUN_TRY(number);
  signal = int(*number);
  return signal ? Status::error("ended by a signal") : all;
}

/// The predicted bytes of a process, or of its device if that has its own
/// memory. The plan does not know the size of the data files, which are in host
/// memory.
int64_t Training::predictedBytes(const plan::MemoryTable& planned) const {
  if (!device.isHost())
    return planned.total;
  return std::max(planned.total + sets.bytes(), sets.readingPeak());
}

Status Training::takeMemory() {
  Expected<memory::Arena> taken =
      device.allocate(stage.memory.arena, stage.memory.offloaded);
  // The following calls are collective, so all ranks must have succeeded.
  RECIPERUN_TRY(communicator.agree(taken.status()));
  arena = std::move(*taken);
  Expected<exec::Executor> made =
      exec::Executor::make(plan, arena, communicator, device);
  if (!made)
    return made.status();
  executor.emplace(std::move(*made));
  buffers.emplace(stage, device, *executor);
  return Status::ok();
}

Status Training::openSaving() {
  if (!plan.checkpoint.saves())
    return Status::ok();
  saving.emplace(plan, communicator, device, arena);
  return saving->open(*checkpoints, runId, settings);
}

/// Each rank of the first host measures a share of the kernels. Rank 0 then
/// prepares the rest before all others, which reuse the choices, so that all
/// ranks compute the same way.
Status Training::prepareKernels() {
  if (device.isHost()) // oneDNN does not check its allocations
    RECIPERUN_TRY(communicator.agree(checkMemoryBudget(stage.memory.library)));
  constexpr int most = 8; // at most the number of ranks per host
  const int rank = communicator.rank();
  const int sharing = std::min(communicator.ranks(), most);
  if (sharing > 1)
    RECIPERUN_TRY(communicator.agree(
        rank < sharing ? executor->prepare({rank, sharing}) : Status::ok()));
  RECIPERUN_TRY(
      communicator.agree(isRoot() ? executor->prepare() : Status::ok()));
  RECIPERUN_TRY(
      communicator.agree(isRoot() ? Status::ok() : executor->prepare()));
  return communicator.agree(executor->rehearse());
}

/// Initializes every parameter. An adapter that is not loaded keeps its initial
/// values.
Status Training::initializeState() {
  int rank = communicator.rank();
  RECIPERUN_TRY(exec::initializeParameters(plan, *executor, rank, threads));
  if (!start.directory.empty()) {
    checkpoint::ArenaParameters access(plan, rank, arena.base(), device);
    RECIPERUN_TRY(
        checkpoint::loadHuggingFace(plan, rank, start.directory, access));
  }
  return exec::fillMasters(plan, *executor, rank);
}

Status Training::loadStart() {
  if (!start.source)
    return Status::ok();
  const int rank = communicator.rank();
  checkpoint::ArenaBuffers buffers(plan, rank, arena, device);
  return checkpoint::loadState(plan, rank, *start.source, start.take, buffers);
}

StartReport Training::startReport() const {
  return {plan,  stage.memory,  device,
          sets,  start,         *checkpoints,
          locks, arena.bytes(), predictedBytes(stage.memory)};
}

/// Prints the lines of a start, on rank 0.
void Training::print(const std::vector<std::string>& lines) {
  progress.emplace(options.style, sets.train->steps(), start.step, plan.train);
  for (const std::string& line : lines)
    progress->line(line);
}

/// Classifies the outcome of loading a checkpoint. After a failure, verifies
/// the file that was read last.
checkpoint::Condition Training::conditionAfter(const Status& loaded) const {
  if (loaded.isOk())
    return checkpoint::Condition::whole;
  const int file = start.source->lastFile();
  if (file < 0) // the manifest already shows it
    return checkpoint::Condition::damaged;
  const checkpoint::Verified found = checkpoint::verifyFile(
      start.source->path(), start.source->manifest(), size_t(file));
  return found.condition == checkpoint::Condition::damaged
             ? found.condition
             : checkpoint::Condition::unreadable;
}

/// Falls back to an earlier checkpoint. Collective.
Status Training::passOver(const std::string& reason) {
  const int64_t step = start.source->manifest().position.step;
  checkpoints->passOver(step, reason);
  if (saving)
    saving->passOver(step, reason);
  if (isRoot())
    progress->line("warning: " + startReport().damagedText(step, reason));
  RECIPERUN_TRY(chooseStart());
  if (!isRoot())
    return Status::ok();
  print(startReport().linesOfFallBack());
  return Status::ok();
}

/// Initializes the state, from the newest intact checkpoint if there is one.
/// Fails on all ranks with one message.
Status Training::fillState() {
  RECIPERUN_TRY(communicator.agree(initializeState()));
  while (true) {
    const Status mine = loadStart();
    Expected<int64_t> worst =
        communicator.maximum(int64_t(conditionAfter(mine)));
    RECIPERUN_TRY(worst);
    const Status all = communicator.agree(mine);
    if (all.isOk() || !start.mayFallBack)
      return all;
    if (*worst == int64_t(checkpoint::Condition::unreadable))
      return Status::error(all.message() + "; " + unreadableWayOut);
    if (*worst != int64_t(checkpoint::Condition::damaged))
      return all;
    RECIPERUN_TRY(passOver(all.message()));
  }
}

} // namespace reciperun::train
