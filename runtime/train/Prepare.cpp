// Training::prepare: what comes before the first step.
//
// Cheap things that may be refused come first (the folder, the data), so that a
// mistake costs seconds; the arena's pages are touched before weights are read.

#include "runtime/train/Training.h"

#include "runtime/checkpoint/ExportDirectory.h"
#include "runtime/checkpoint/HuggingFaceImport.h"
#include "runtime/exec/Weights.h"
#include "runtime/plan/Mesh.h"
#include "runtime/plan/PlanJson.h"
#include "runtime/train/Host.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

namespace reciperun::train {
namespace {

namespace fs = std::filesystem;

/// The micro-batches that one run of a schedule goes through.
int64_t microBatchesOf(const plan::Schedule& schedule) {
  int64_t count = 0;
  for (const plan::Step& step : schedule.steps)
    if (step.kind == plan::Step::Kind::load)
      count = std::max(count, int64_t(step.microBatch) + 1);
  return count;
}

Status writeFile(const fs::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text << std::flush;
  if (!file)
    return Status::error("cannot write `" + path.string() +
                         "`: " + std::strerror(errno));
  return Status::ok();
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
  return std::to_string(mesh.ranks) + " ranks (" + axes + ")";
}

} // namespace

Training::Training(const plan::Plan& plan, Rank& rank, Options options)
    : plan(plan), device(*rank.device), threads(rank.threads),
      communicator(*rank.communicator, device), options(std::move(options)),
      spikes(plan.train), startTimes(rank.times),
      clock(plan, device, communicator) {
  if (this->options.timesOps)
    opTimes.emplace(device, clock);
  if (!plan.train.logNorms.empty())
    norms.emplace(plan, communicator.rank(), plan.train.logNorms);
}

Status Training::prepare() {
  RECIPERUN_TRY(communicator.agree(makeDirectory()));
  RECIPERUN_TRY(communicator.agree(checkAnswers()));
  RECIPERUN_TRY(communicator.agree(openData()));
  RECIPERUN_TRY(compareData());
  RECIPERUN_TRY(communicator.agree(openCheckpoints()));
  Expected<Start> found =
      findStart(plan, communicator, *checkpoints, *trainData);
  if (!found)
    return found.status();
  start = std::move(*found);
  if (start.resumes())
    resumed = start.source->path().string();
  RECIPERUN_TRY(checkProfile());
  RECIPERUN_TRY(communicator.agree(checkWeights()));
  RECIPERUN_TRY(communicator.agree(openFiles()));
  startTimes.mark("data and files");
  RECIPERUN_TRY(communicator.agree(takeMemory()));
  RECIPERUN_TRY(communicator.agree(openSaving()));
  startTimes.mark("memory");
  RECIPERUN_TRY(prepareKernels());
  startTimes.mark("kernels");
  if (isRoot())
    announce();
  RECIPERUN_TRY(communicator.agree(fillState()));
  start.source.reset();
  startTimes.mark("weights");
  return Status::ok();
}

/// The folder of the run; and a look at the place of the export, so that no
/// training is lost for it.
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
  return plan.exchange.hf.empty() ? Status::ok()
                                  : checkpoint::checkWritable(plan.exchange.hf)
                                        .withContext("`export.hf`");
}

/// The same on all ranks.
Status Training::checkProfile() const {
  const ProfileRange& range = options.profile;
  if (range.first == 0)
    return Status::ok();
  if (range.first <= start.step || range.first > trainData->steps())
    return Status::error(
        "`--profile` begins at step " + std::to_string(range.first) +
        ", and the run goes from step " + std::to_string(start.step + 1) +
        " to " + std::to_string(trainData->steps()));
  for (int rank : range.ranks)
    if (rank >= communicator.ranks())
      return Status::error("`--profile` names rank " + std::to_string(rank) +
                           ", and those of the run are 0 to " +
                           std::to_string(communicator.ranks() - 1));
  return Status::ok();
}

/// Whether there are weights to begin with, where no checkpoint has them.
Status Training::checkWeights() const {
  if (start.source || plan.exchange.weights.empty())
    return Status::ok();
  return checkpoint::checkHuggingFace(plan, plan.exchange.weights)
      .withContext("`weights`");
}

/// Whether prompts can be answered when the training has ended: the exported
/// model's plan is for the same kind of device.
Status Training::checkAnswers() const {
  if (plan.train.prompts.empty() || plan.generation.empty())
    return Status::ok();
  Expected<plan::Plan> answering = plan::fromJson(plan.generation);
  RECIPERUN_TRY(answering);
  const plan::Plan stage = plan::select(*std::move(answering), 0);
  for (const plan::Function& function : stage.functions)
    for (const plan::Op& op : function.ops)
      if (!device.hasKernel(op.kind))
        return Status::error("`train.prompts` cannot be answered on `" +
                             plan.device + "` yet: op `" + op.name + "` (" +
                             plan::opName(op.kind) +
                             ") has no kernel there; leave them out");
  return Status::ok();
}

/// Rank 0 alone reads what is there.
Status Training::openCheckpoints() {
  checkpoints.emplace(plan.checkpoint.directory);
  if (!isRoot())
    return Status::ok();
  if (plan.checkpoint.saves())
    RECIPERUN_TRY(checkpoints->prepare());
  return checkpoints->open();
}

/// The plan and the metrics, once it is known that the run can start: until
/// then an earlier run's stay as they are.
Status Training::openFiles() {
  if (!isRoot())
    return Status::ok();
  fs::path directory = plan.train.directory;
  RECIPERUN_TRY(writeFile(directory / "plan.json", plan::toJson(plan)));
  const int64_t kept =
      start.resumes() ? start.source->manifest().position.samples : 0;
  Expected<MetricsFile> file =
      MetricsFile::open(directory / "metrics.jsonl", kept);
  if (!file)
    return file.status();
  metrics = std::move(*file);
  for (double loss : metrics->keptLosses())
    spikes.take(loss);
  return Status::ok();
}

Status Training::openData() {
  RECIPERUN_TRY(openTokenizer());
  Expected<data::Loader> loader = openLoader(data::DataSet::train, "train");
  RECIPERUN_TRY(loader);
  trainData = std::move(*loader);
  if (!plan.data.valid)
    return Status::ok();
  loader = openLoader(data::DataSet::valid, "evaluate");
  RECIPERUN_TRY(loader);
  validData = std::move(*loader);
  return Status::ok();
}

/// Each rank reads its own files, and all go by their number of rows.
/// Collective.
Status Training::compareData() {
  for (const auto* loader : {&trainData, &validData}) {
    if (!*loader)
      continue;
    for (const int64_t mine : {(*loader)->steps(), (*loader)->rowsOfEpoch(0)}) {
      Expected<int64_t> most = communicator.maximum(mine);
      RECIPERUN_TRY(most);
      Expected<int64_t> negated = communicator.maximum(-mine);
      RECIPERUN_TRY(negated);
      if (*most != -*negated)
        return Status::error(
            std::string("the files of `") +
            (loader == &trainData ? "data.train" : "data.valid") +
            "` differ between hosts: ranks find " + std::to_string(-*negated) +
            " to " + std::to_string(*most) + " rows or steps in them");
    }
  }
  return Status::ok();
}

Status Training::openTokenizer() {
  if (plan.data.tokenizer.empty() || !plan::readsText(plan.data))
    return Status::ok();
  Expected<data::Tokenizer> read = data::Tokenizer::read(plan.data.tokenizer);
  RECIPERUN_TRY(read);
  tokenizer = std::move(*read);
  return Status::ok();
}

/// This rank's share of a data set, in the micro-batches of a schedule.
Expected<data::Loader> Training::openLoader(data::DataSet set,
                                            const char* schedule) {
  auto found = std::find_if(
      plan.schedules.begin(), plan.schedules.end(),
      [&](const plan::Schedule& each) { return each.name == schedule; });
  if (found == plan.schedules.end())
    return Status::error("the plan has no schedule `" + std::string(schedule) +
                         "`");
  int rank = communicator.rank();
  data::BatchShard shard{
      plan::coordinate(plan.mesh, rank, "dp"), plan::axisSize(plan.mesh, "dp"),
      microBatchesOf(*found), plan::coordinate(plan.mesh, rank, "cp"),
      plan::axisSize(plan.mesh, "cp")};
  return data::Loader::open(plan.data, plan.train, set, shard,
                            tokenizer ? &*tokenizer : nullptr);
}

Status Training::takeMemory() {
  Expected<memory::Arena> taken =
      device.allocate(plan.memory.arena, plan.memory.offloaded);
  // What follows is for all ranks or for none.
  RECIPERUN_TRY(communicator.agree(taken.status()));
  arena = std::move(*taken);
  Expected<exec::Executor> made =
      exec::Executor::make(plan, arena, communicator, device);
  if (!made)
    return made.status();
  executor.emplace(std::move(*made));
  return Status::ok();
}

Status Training::openSaving() {
  if (!plan.checkpoint.saves())
    return Status::ok();
  saving.emplace(plan, communicator, device, arena);
  return saving->open(*checkpoints);
}

/// Ranks of the first host measure a share each. What is left rank 0 does
/// first: the others find what has been chosen, so that all of them compute
/// alike.
Status Training::prepareKernels() {
  constexpr int most = 8; // ranks of a host, or fewer
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

/// Every parameter has its initial value first, which an adapter that is not
/// loaded keeps.
Status Training::fillState() {
  int rank = communicator.rank();
  RECIPERUN_TRY(exec::initializeParameters(plan, *executor, rank, threads));
  if (!start.source && !plan.exchange.weights.empty()) {
    checkpoint::ArenaParameters access(plan, rank, arena.base(), device);
    RECIPERUN_TRY(
        checkpoint::loadHuggingFace(plan, rank, plan.exchange.weights, access));
  }
  RECIPERUN_TRY(exec::fillMasters(plan, *executor, rank));
  if (!start.source)
    return Status::ok();
  checkpoint::ArenaBuffers buffers(plan, rank, arena, device);
  return checkpoint::loadState(plan, rank, *start.source, start.take, buffers);
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
         " (" + std::to_string(trainData->samplesBefore(start.step)) +
         " samples)";
}

void Training::announce() {
  progress.emplace(options.style, trainData->steps(), start.step, plan.train);
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
  progress->line("data: " + trainData->extent() + " of " +
                 std::to_string(plan.data.sequence) + " tokens; " +
                 std::to_string(trainData->steps()) + " steps of " +
                 std::to_string(plan.train.globalBatch) + " rows");
  for (const data::Loader* loader :
       {&*trainData, validData ? &*validData : nullptr})
    for (const std::string& note :
         loader ? loader->notes() : std::vector<std::string>())
      progress->line("note: " + note);
  for (const std::string& note : checkpoints->notes())
    progress->line("note: " + note);
  for (const std::string& note : start.notes)
    progress->line("note: " + note);
  for (const std::string& note : device.notes())
    progress->line("note: " + note);
  progress->line("memory: " + bytesText(plan.memory.total) +
                 " predicted for a rank, " + std::to_string(arena.bytes()) +
                 " bytes of it in the arena");
}

} // namespace reciperun::train
