// An announcement is a command, followed by the step when it is `run`.

#include "runtime/serve/engine/ServingRanks.h"

#include "runtime/base/StopSignal.h"
#include "runtime/device/cpu/Threads.h"
#include "runtime/exec/Devices.h"
#include "runtime/plan/Mesh.h"
#include "runtime/serve/engine/ServedModel.h"
#include "runtime/serve/engine/StepMessage.h"

#include <cstdio>
#include <cstring>
#include <deque>
#include <exception>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace reciperun::serve {
namespace {

enum class Command : int32_t {
  open,
  run,
  addAdapter,    // followed by its id and path, one int32 per byte
  removeAdapter, // followed by its id
  close,
  end
};

Status announce(const comm::MpiSession& session, Command command) {
  const auto number = int32_t(command);
  return session.announce(std::as_bytes(std::span(&number, 1)));
}

/// The rank of the last stage that sends the results of a step to rank 0.
int resultsRank(const plan::Plan& plan) {
  return plan::rankInStage(plan.mesh, /*rank=*/0, int(plan.stages.size()) - 1);
}

/// Visits the results of a step in the order in which they are sent.
template <class Visit>
Status visitResults(const StepReads& reads, StepResults& results,
                    const StepModel& model, const Visit& visit) {
  if (reads.chosen)
    RECIPERUN_TRY(visit(std::as_writable_bytes(std::span(results.chosen))));
  for (const RowRange& range : reads.logits)
    RECIPERUN_TRY(visit(std::as_writable_bytes(
        results.logitsOf(range.first, range.count, model.vocab()))));
  for (const RowRange& range : reads.hidden)
    RECIPERUN_TRY(visit(std::as_writable_bytes(
        results.hiddenOf(range.first, range.count, model.hiddenWidth()))));
  return Status::ok();
}

Status checkRanks(const ModelFolder& folder, int started) {
  const int wanted = folder.plan.mesh.ranks;
  if (wanted == started)
    return Status::ok();
  const std::string model = "the plan of `" + folder.path.string() +
                            "` is for " + std::to_string(wanted) +
                            (wanted == 1 ? " rank" : " ranks") +
                            ", and the job has " + std::to_string(started);
  return Status::error(
      model +
      (wanted == 1
           ? "; start it without `mpirun`, or compile the plan with "
             "`--set cluster.ranks=" +
                 std::to_string(started) +
                 " --set parallel.tp=" + std::to_string(started) + "`"
           : "; start it with `mpirun -np " + std::to_string(wanted) + "`"));
}

} // namespace

/// Rank 0's view of the model. Announces each step to the other ranks, runs it
/// on its own part, and receives the results of the last stage in the
/// background.
class ServingRanks::Leader : public StepModel {
public:
  Leader(ServingRanks& ranks, std::unique_ptr<ServedModel> part)
      : ranks(ranks), part(std::move(part)) {}
  /// Waits for the results of open steps, because their buffers must outlive
  /// the receives, and closes the model on all ranks, because closing GPU
  /// communicators is collective. After a failure it does neither:
  /// ~ServingRanks aborts the job.
  ~Leader() override {
    StepResults unread;
    while (!underway.empty() && !ranks.hasFailed)
      static_cast<void>(finish(unread));
    if (!ranks.hasFailed)
      static_cast<void>(note(announce(*ranks.session, Command::close)));
    if (ranks.hasFailed)
      static_cast<void>(part.release());
  }

  int64_t vocab() const override { return part->vocab(); }
  int64_t hiddenWidth() const override { return part->hiddenWidth(); }
  int threads() const override { return part->threads(); }
  int depth() const override { return int(part->plan().stages.size()); }

  Status start(const StepPlan& step) override {
    ranks.hasFailed = true; // in case an exception leaves the step
    Status status = startOnAll(step);
    ranks.hasFailed = !status.isOk();
    return status;
  }

  /// Adds the adapter on all ranks or on none.
  Status addAdapter(AdapterId adapter,
                    const std::filesystem::path& directory) override {
    message = {int32_t(Command::addAdapter), int32_t(adapter)};
    for (char byte : directory.string())
      message.push_back(byte);
    RECIPERUN_TRY(announceMessage());
    const Status status =
        ranks.session->agree(part->addAdapter(adapter, directory));
    if (!status.isOk())
      RECIPERUN_TRY(removeAdapter(adapter));
    return status;
  }

  Status removeAdapter(AdapterId adapter) override {
    message = {int32_t(Command::removeAdapter), int32_t(adapter)};
    RECIPERUN_TRY(announceMessage());
    return part->removeAdapter(adapter);
  }

  Status finish(StepResults& results) override {
    Underway& first = underway.front();
    Status status = Status::ok();
    if (resultsRank(part->plan()) == 0)
      status = part->read(first.reads, results);
    for (comm::MpiSession::PendingReceive& receive : first.receives)
      if (status.isOk())
        status = receive.wait();
    if (!first.receives.empty())
      std::swap(results, first.results);
    spare.push_back(std::move(first.results));
    underway.pop_front();
    return note(std::move(status));
  }

private:
  /// A step whose results have not been read.
  struct Underway {
    StepReads reads;
    StepResults results; // of a later stage
    std::vector<comm::MpiSession::PendingReceive> receives = {};
  };

  Status announceMessage() {
    return note(ranks.session->announce(std::as_bytes(std::span(message))));
  }

  Status startOnAll(const StepPlan& step) {
    message.assign(1, int32_t(Command::run));
    appendStep(step, message);
    RECIPERUN_TRY(announceMessage());
    underway.push_back({readsOf(step), takeSpare()});
    if (resultsRank(part->plan()) != 0)
      RECIPERUN_TRY(receiveResults(underway.back()));
    return part->run(step);
  }

  Status receiveResults(Underway& step) {
    const int from = resultsRank(part->plan());
    step.results.resize(step.reads, vocab(), hiddenWidth());
    return visitResults(step.reads, step.results, *part,
                        [&](std::span<std::byte> bytes) -> Status {
                          auto receive =
                              ranks.session->beginReceive(from, bytes);
                          RECIPERUN_TRY(receive);
                          step.receives.push_back(*std::move(receive));
                          return Status::ok();
                        });
  }

  /// Reuses the memory of results that have been read.
  StepResults takeSpare() {
    if (spare.empty())
      return {};
    StepResults taken = std::move(spare.back());
    spare.pop_back();
    return taken;
  }

  Status note(Status status) {
    ranks.hasFailed = ranks.hasFailed || !status.isOk();
    return status;
  }

  ServingRanks& ranks;
  std::unique_ptr<ServedModel> part;
  std::vector<int32_t> message;
  std::deque<Underway> underway;
  std::vector<StepResults> spare;
};

std::unique_ptr<ServingRanks>
ServingRanks::join(const Expected<ModelFolder>& folder, int threads) {
  std::unique_ptr<ServingRanks> ranks(new ServingRanks);
  // Set first, since libraries read the environment when MPI starts.
  if (folder)
    device::setEnvironment(exec::environmentOf(folder->plan));
  ranks->joined = comm::MpiSession::isOneOfSeveral()
                      ? ranks->start(folder, threads)
                      : ranks->startAlone(folder, threads);
  return ranks;
}

Status ServingRanks::startAlone(const Expected<ModelFolder>& folder,
                                int threads) {
  RECIPERUN_TRY(folder.status());
  RECIPERUN_TRY(checkRanks(*folder, /*started=*/1));
  Expected<int> found = threads > 0 ? Expected<int>(threads)
                                    : device::threadsOfProcess(/*sharing=*/1);
  RECIPERUN_TRY(found);
  cpuThreads = *found;
  return Status::ok();
}

Status ServingRanks::start(const Expected<ModelFolder>& folder, int threads) {
  Expected<comm::MpiSession> started = comm::MpiSession::start();
  RECIPERUN_TRY(started);
  session.emplace(*std::move(started));
  RECIPERUN_TRY(session->agree(session->environment()));
  RECIPERUN_TRY(session->agree(folder.status()));
  RECIPERUN_TRY(session->agree(checkRanks(*folder, session->ranks())));
  RECIPERUN_TRY(
      exec::comparePlans(*session, folder->plan, folder->path.string()));
  Expected<int> found =
      threads > 0 ? Expected<int>(threads) : exec::threadsOfRank(*session);
  RECIPERUN_TRY(session->agree(found.status()));
  cpuThreads = *found;
  return Status::ok();
}

ServingRanks::~ServingRanks() {
  if (!session || session->rank() != 0 || !joined.isOk())
    return;
  if (hasFailed || !announce(*session, Command::end).isOk())
    session->abort(1);
}

Expected<std::unique_ptr<ServedModel>>
ServingRanks::openPart(const ModelFolder& folder) {
  if (!session)
    return ServedModel::open(folder.path, folder.plan, cpuThreads);
  Expected<exec::RankDevice> rank =
      exec::openRank(*session, folder.plan, cpuThreads);
  RECIPERUN_TRY(rank);
  return ServedModel::open(folder.path, folder.plan, *std::move(rank));
}

Expected<std::unique_ptr<StepModel>>
ServingRanks::open(const ModelFolder& folder) {
  if (session)
    RECIPERUN_TRY(announce(*session, Command::open));
  auto part = openPart(folder);
  RECIPERUN_TRY(part);
  if (!session)
    return std::unique_ptr<StepModel>(*std::move(part));
  return std::unique_ptr<StepModel>(
      std::make_unique<Leader>(*this, *std::move(part)));
}

int ServingRanks::follow(const Expected<ModelFolder>& folder) {
  if (!joined.isOk())
    return 1;         // rank 0 prints the reason
  watchStopSignals(); // rank 0 decides when the work ends
  try {
    return followSteps(*folder);
  } catch (const std::exception& failure) {
    endJob(Status::error(failure.what()));
  }
}

int ServingRanks::followSteps(const ModelFolder& folder) {
  std::unique_ptr<ServedModel> part;
  StepResults results;
  int code = 0;
  while (true) {
    Expected<std::vector<int32_t>> message = nextMessage();
    if (!message)
      endJob(message.status());
    switch (Command(message->front())) {
    case Command::end:
      return code;
    case Command::open:
      if (auto opened = openPart(folder))
        part = *std::move(opened);
      else
        code = 1; // also on rank 0, which prints the reason
      break;
    case Command::close:
      part.reset();
      break;
    case Command::addAdapter:
      // On failure rank 0 reports the cause, and removes the adapter.
      static_cast<void>(
          session->agree(addAdapter(*part, std::span(*message).subspan(1))));
      break;
    case Command::removeAdapter:
      static_cast<void>(part->removeAdapter((*message)[1]));
      break;
    case Command::run:
      if (Status status =
              followStep(*part, std::span(*message).subspan(1), results);
          !status.isOk())
        endJob(status);
    }
  }
}

Status ServingRanks::addAdapter(ServedModel& part,
                                std::span<const int32_t> message) {
  std::string path;
  for (int32_t byte : message.subspan(1))
    path.push_back(char(byte));
  return part.addAdapter(message.front(), path);
}

/// Runs this rank's part of a step. Sends the results that rank 0 expects
/// before the next step replaces them.
Status ServingRanks::followStep(ServedModel& part,
                                std::span<const int32_t> message,
                                StepResults& results) const {
  const StepPlan step = readStep(message);
  RECIPERUN_TRY(part.run(step));
  if (session->rank() != resultsRank(part.plan()))
    return Status::ok();
  const StepReads reads = readsOf(step);
  RECIPERUN_TRY(part.read(reads, results));
  return visitResults(reads, results, part,
                      [&](std::span<const std::byte> bytes) {
                        return session->send(/*rank=*/0, bytes);
                      });
}

Expected<std::vector<int32_t>> ServingRanks::nextMessage() const {
  Expected<std::vector<std::byte>> bytes = session->announcement();
  RECIPERUN_TRY(bytes);
  std::vector<int32_t> message(bytes->size() / sizeof(int32_t));
  std::memcpy(message.data(), bytes->data(), bytes->size());
  return message;
}

void ServingRanks::endJob(const Status& failure) {
  std::fprintf(stderr, "rank %d: error: %s\n", session->rank(),
               failure.message().c_str());
  session->abort(1);
}

} // namespace reciperun::serve
