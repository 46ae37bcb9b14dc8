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
#include "runtime/train/Schedule.h"
#include "runtime/train/Settings.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>

namespace reciperun::train {
namespace {

namespace fs = std::filesystem;

/// `1 step`, `2 steps`.
std::string counted(int64_t number, const std::string& noun) {
  return std::to_string(number) + " " + noun + (number == 1 ? "" : "s");
}

/// `1 rank`, `4 ranks (dp 2 x tp 2)`.
std::string meshText(const plan::Mesh& mesh) {
  if (mesh.ranks == 1)
    return "1 rank";
  std::string axes;
  for (const plan::Axis& axis : mesh.axes)
    if (axis.size > 1)
      axes += (axes.empty() ? "" : " x ") + axis.name + " " +
              std::to_string(axis.size);
  return counted(mesh.ranks, "rank") + " (" + axes + ")";
}

} // namespace

Training::Training(const plan::Plan& plan, Rank& rank, Options options)
    : plan(plan), stage(plan::stageOf(plan, rank.communicator->rank())),
      device(*rank.device), threads(rank.threads),
      communicator(*rank.communicator, device), options(std::move(options)),
      sets(plan, stage, communicator.rank()), spikes(plan.train),
      startTimes(rank.times), clock(stage, device, communicator) {
  if (this->options.timesOps)
    opTimes.emplace(device, clock);
  if (!plan.train.logNorms.empty())
    norms.emplace(plan, communicator.rank(), plan.train.logNorms);
}

Status Training::prepare() {
  RECIPERUN_TRY(communicator.agree(checkInputPaths(plan, /*trains=*/true)));
  RECIPERUN_TRY(communicator.agree(makeDirectory()));
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
    announce();
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
  return checkProfile();
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
                         "` (`train.dir`): " + failure.message());
  RECIPERUN_TRY(lock(checkpoint::runLockFile(directory),
                     "`" + directory.string() + "` (`train.dir`)"));
  return plan.exchange.hf.empty() ? Status::ok()
                                  : checkpoint::checkWritable(plan.exchange.hf)
                                        .withContext("`export.hf`");
}

/// Checks the range of `--profile`. The result is the same on all ranks.
Status Training::checkProfile() const {
  const ProfileRange& range = options.profile;
  if (range.first == 0)
    return Status::ok();
  if (range.first <= start.step || range.first > sets.train->steps())
    return Status::error(
        "`--profile` begins at step " + std::to_string(range.first) +
        ", and the run goes from step " + std::to_string(start.step + 1) +
        " to " + std::to_string(sets.train->steps()));
  for (int rank : range.ranks)
    if (rank >= communicator.ranks())
      return Status::error("`--profile` names rank " + std::to_string(rank) +
                           ", and those of the run are 0 to " +
                           std::to_string(communicator.ranks() - 1));
  return Status::ok();
}

/// Checks the initial weights when no checkpoint provides them.
Status Training::checkWeights() const {
  if (start.source || plan.exchange.weights.empty())
    return Status::ok();
  const std::string cause = data::whyNoFolder(plan.exchange.weights);
  if (!cause.empty())
    return Status::error("`weights`: cannot read `" + plan.exchange.weights +
                         "`: " + cause + startOfRelative(plan, "weights"));
  return checkpoint::checkHuggingFace(plan, plan.exchange.weights)
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
  if (plan.checkpoint.saves()) {
    const fs::path& folder = checkpoints->path();
    std::error_code failure;
    fs::create_directories(folder, failure);
    if (failure)
      return Status::error("cannot make `" + folder.string() +
                           "` (`checkpoint.dir`): " + failure.message());
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
  const int64_t kept =
      start.resumes() ? start.source->manifest().position.samples : 0;
  Expected<MetricsFile> file =
      MetricsFile::open(directory / "metrics.jsonl", kept);
  if (!file)
    return file.status();
  metrics = std::move(*file);
  for (double loss : metrics->keptLosses())
    spikes.take(loss);
  if (!metrics->note().empty())
    progress->line("warning: " + metrics->note());
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
  if (!start.source && !plan.exchange.weights.empty()) {
    checkpoint::ArenaParameters access(plan, rank, arena.base(), device);
    RECIPERUN_TRY(
        checkpoint::loadHuggingFace(plan, rank, plan.exchange.weights, access));
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
    progress->line("warning: " + damagedText(step, reason));
  RECIPERUN_TRY(chooseStart());
  if (!isRoot())
    return Status::ok();
  progress.emplace(options.style, sets.train->steps(), start.step, plan.train);
  progress->line(weightsText());
  announceResumed();
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

std::string Training::damagedText(int64_t step,
                                  const std::string& reason) const {
  return "checkpoint `" + checkpoints->checkpoint(step).string() +
         "` is damaged and passed over: " + reason;
}

std::string Training::weightsText() const {
  if (!start.source)
    return plan.exchange.weights.empty()
               ? "random weights"
               : "weights from `" + plan.exchange.weights + "`";
  std::string path = "`" + start.source->path().string() + "`";
  if (!start.resumes())
    return "weights from " + path;
  return "resumed from " + path + " after step " + std::to_string(start.step) +
         " (" + std::to_string(sets.train->samplesBefore(start.step)) +
         " samples)";
}

/// Describes the learning rate of the next step. It depends only on the recipe
/// of this run.
std::string Training::scheduleText() const {
  char text[160];
  std::snprintf(
      text, sizeof text,
      "learning rate: `%s` of this recipe, from step %lld of %lld on: "
      "%.4g",
      plan.train.learningRate.kind.c_str(),
      static_cast<long long>(start.step + 1),
      static_cast<long long>(sets.train->steps()),
      learningRate(plan.train.learningRate, start.step, sets.train->steps()));
  return text;
}

/// Prints how the run resumes and which settings changed.
void Training::announceResumed() {
  if (!start.changes.empty())
    progress->line(start.changes);
  const int64_t steps = sets.train->steps();
  if (start.step < steps)
    return progress->line(scheduleText());
  progress->line("nothing is left to do: the recipe's " +
                 std::to_string(steps) +
                 " steps are done; to train on, give it more `train." +
                 (plan.train.steps > 0 ? "steps`" : "epochs`") +
                 "; to train anew, another `train.dir` or "
                 "`checkpoint.resume = \"never\"`");
}

/// Prints warnings about the folder of checkpoints.
void Training::announceFolder() {
  for (const checkpoint::FolderLock& lock : locks)
    if (!lock.note().empty())
      progress->line("warning: " + lock.note());
  using checkpoint::Condition;
  for (const auto& fault : checkpoints->faults())
    progress->line("warning: " +
                   (fault.condition == Condition::damaged
                        ? damagedText(fault.step, fault.reason)
                        : "checkpoint `" +
                              checkpoints->checkpoint(fault.step).string() +
                              "` cannot be read: " + fault.reason));
}

void Training::announce() {
  progress.emplace(options.style, sets.train->steps(), start.step, plan.train);
  progress->line(plan.name + ": " + plan.task + " on " + meshText(plan.mesh) +
                 " on " + plan.device + ", " + device.name() + " a rank");
  int64_t parameters = 0, trainable = 0;
  for (const plan::Parameter& parameter : plan.parameters) {
    int64_t count = plan::elementCount(parameter.globalShape);
    parameters += count;
    trainable += parameter.trainable ? count : 0;
  }
  progress->line("model: " + std::to_string(parameters) + " parameters, " +
                 std::to_string(trainable) + " of them trained, " +
                 weightsText());
  progress->line("data: " + sets.train->extent() + " of " +
                 std::to_string(plan.data.sequence) + " tokens; " +
                 counted(sets.train->steps(), "step") + " of " +
                 counted(plan.train.globalBatch, "row"));
  // The compiler has already warned when the recipe states the number of steps.
  const std::string doubt =
      plan.train.steps > 0
          ? std::string()
          : scheduleDoubt(plan.train.learningRate, sets.train->steps());
  if (!doubt.empty())
    progress->line("warning: " + doubt);
  for (const data::Loader* loader :
       {&*sets.train, sets.valid ? &*sets.valid : nullptr})
    for (const std::string& note :
         loader ? loader->notes() : std::vector<std::string>())
      progress->line("note: " + note);
  for (const std::string& note : sets.tokenizerNotes())
    progress->line("note: " + note);
  announceFolder();
  for (const std::string& note : device.notes())
    progress->line("note: " + note);
  announceMemory();
  if (start.resumes())
    announceResumed();
}

void Training::announceMemory() {
  progress->line("memory: " + bytesText(predictedBytes(stage.memory)) +
                 " predicted for a rank, " + std::to_string(arena.bytes()) +
                 " bytes of it in the arena");
  progress->line("memory of the data: " + bytesText(sets.bytes()) +
                 " on the host for a rank; " + bytesText(sets.readingPeak()) +
                 " while it was read");
  const plan::MemoryTable& memory = stage.memory;
  if (device.isHost() && predictedBytes(memory) > memory.capacity &&
      memory.total <= memory.capacity)
    progress->line("note: with the data this is more than the " +
                   bytesText(memory.capacity) +
                   " of a rank: `jsonl` and `text` are kept in memory as token "
                   "ids, `tokens` are not");
}

} // namespace reciperun::train
