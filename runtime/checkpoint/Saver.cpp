// A state machine through which all ranks advance together, and the work of a
// rank in each phase.

#include "runtime/checkpoint/Saver.h"

#include "runtime/checkpoint/Files.h"
#include "runtime/checkpoint/TokenizerFiles.h"

#include <cassert>
#include <system_error>

namespace reciperun::checkpoint {

Saver::Saver(const plan::Plan& plan, int rank, const BufferAccess& buffers)
    : plan(plan), rank(rank), buffers(buffers), file(plan, rank) {}

Saver::~Saver() {
  if (work.valid())
    work.wait();
}

Status Saver::open(CheckpointFolder opened, const std::string& run,
                   std::vector<Setting> settings) {
  folder = std::move(opened);
  manifest.run = run;
  if (rank == 0) {
    manifest = describeRun(plan, run);
    manifest.settings = std::move(settings);
  }
  if (!plan.checkpoint.async)
    return Status::ok();
  const int64_t planned = plan::stageOf(plan, rank).memory.host;
  if (file.dataBytes() > planned)
    return Status::error(
        "the plan is damaged: it counts " + std::to_string(planned) +
        " bytes of the host for the copy of a checkpoint, "
        "and rank " +
        std::to_string(rank) + " writes " + std::to_string(file.dataBytes()));
  Expected<memory::Arena> taken = memory::Arena::allocate(file.dataBytes());
  RECIPERUN_TRY(
      taken.status().withContext("the copy that checkpoints are written from"));
  staging = *std::move(taken);
  return Status::ok();
}

void Saver::passOver(int64_t step, const std::string& reason) {
  folder->passOver(step, reason);
}

void Saver::begin(const Position& position, std::optional<double> validLoss) {
  assert(current == Phase::idle && "one checkpoint at a time");
  manifest.position = position;
  manifest.validLoss = validLoss;
  current = Phase::writing;
  result = Status::ok();
  if (plan.checkpoint.async)
    result =
        file.copy(buffers, std::span(staging.base(), size_t(file.dataBytes())));
  if (result.isOk())
    start([this] { return write(); });
}

/// Runs a task on a background thread, or synchronously without `async`.
void Saver::start(std::function<Status()> task) {
  result = Status::ok();
  if (!plan.checkpoint.async) {
    result = task();
    return;
  }
  try {
    work = std::async(std::launch::async, std::move(task));
  } catch (const std::system_error& error) {
    result = Status::error("cannot start a thread to write a checkpoint: " +
                           std::string(error.what()));
  }
}

/// Every rank creates the folder, so that none has to wait for another.
Status Saver::write() const {
  if (file.isEmpty())
    return Status::ok();
  const int64_t step = manifest.position.step;
  const std::filesystem::path aside = folder->staging(step);
  RECIPERUN_TRY(folder->begin(step));
  if (!plan.checkpoint.async)
    return file.write(aside, manifest.saveId(), buffers);
  return file.write(
      aside, manifest.saveId(),
      std::span<const std::byte>(staging.base(), size_t(file.dataBytes())));
}

Status Saver::publish() {
  int64_t step = manifest.position.step;
  RECIPERUN_TRY(writeTokenizerFiles(plan.data, folder->staging(step)));
  return folder->publish(manifest,
                         {plan.checkpoint.keepLast, plan.checkpoint.keepTop});
}

std::vector<std::string> Saver::takeLeftovers() {
  return folder ? folder->takeLeftovers() : std::vector<std::string>();
}

bool Saver::isBusy() const {
  return work.valid() &&
         work.wait_for(std::chrono::seconds(0)) != std::future_status::ready;
}

Status Saver::outcome() {
  if (work.valid())
    result = work.get();
  return result.withContext("checkpoint of step " +
                            std::to_string(manifest.position.step));
}

void Saver::advance() {
  assert(!work.valid() && "the outcome has been asked for");
  if (current == Phase::publishing) {
    lastPublished = folder->checkpoint(manifest.position.step).string();
    current = Phase::idle;
    return;
  }
  current = Phase::publishing;
  if (rank == 0)
    start([this] { return publish(); });
}

} // namespace reciperun::checkpoint
