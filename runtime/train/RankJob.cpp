// See RankJob.h.

#include "runtime/train/RankJob.h"

#include "runtime/checkpoint/FolderKind.h"
#include "runtime/exec/Devices.h"
#include "runtime/plan/PlanJson.h"
#include "runtime/train/Exceptions.h"

#include <cstdio>
#include <utility>

namespace reciperun::train {
namespace {

Status checkJob(const plan::Plan& plan, int ranks) {
  std::string started = std::to_string(ranks);
  std::string wanted = std::to_string(plan.mesh.ranks);
  if (plan::isServingTask(plan.task))
    return Status::error("the plan is of task `" + plan.task +
                         "`: answer prompts with `reciperun generate` and the "
                         "model's folder");
  if (plan.mesh.ranks != ranks)
    return Status::error("the plan wants " + wanted +
                         " ranks and the job has " + started +
                         "; start it with `mpirun -np " + wanted +
                         "`; whether the recipe can run on " + started +
                         " is said by `recipec check FILE --set "
                         "cluster.ranks=" +
                         started + "`");
  return Status::ok();
}

} // namespace

int failTogether(const comm::MpiSession& session, const Status& status,
                 int code) {
  if (session.rank() == 0)
    std::fprintf(stderr, "error: %s\n", status.message().c_str());
  return code;
}

int refuseOnce(const cli::UsageError& error) {
  const auto session = comm::MpiSession::isOneOfSeveral()
                           ? comm::MpiSession::start()
                           : Status::error("no other ranks");
  if (!session || session->rank() == 0)
    std::fputs(cli::toText(error).c_str(), stderr);
  return 2;
}

void failAlone(comm::MpiSession& session, const Status& status) {
  std::fflush(stdout);
  std::fprintf(stderr, "rank %d: error: %s\n", session.rank(),
               status.message().c_str());
  session.abort(1);
}

int runGuarded(comm::MpiSession& session, const std::function<int()>& part) {
  try {
    return part();
  } catch (...) {
    failAlone(session, statusOfException());
  }
}

/// The error for a folder in place of a plan. `use` says how the command takes
/// a folder of weights.
static Status folderIsNoPlan(const std::string& path, const FolderUse& use) {
  using checkpoint::FolderKind;
  const checkpoint::Folder folder = checkpoint::lookAt(path);
  const std::filesystem::path plan = std::filesystem::path(path) / "plan.json";
  const std::string message =
      checkpoint::describe(path, folder) + ", and no plan: ";
  const std::string what =
      "the file that `recipec plan FILE -o plan.json` writes";
  std::error_code code;
  if (std::filesystem::exists(plan, code))
    return Status::error(message + "its plan is `" + plan.string() + "`");
  const bool hasWeights = folder.kind == FolderKind::model ||
                          folder.kind == FolderKind::checkpoint ||
                          !folder.newest.empty();
  if (!hasWeights)
    return Status::error(message + "a plan is " + what);
  const std::string weights =
      folder.newest.empty() ? path : folder.newest.string();
  return Status::error(message + "write " + use(weights) + ", where PLAN is " +
                       what);
}

Expected<plan::Plan> readJobPlan(const std::string& path,
                                 const std::string& folder,
                                 const FolderUse& use) {
  std::error_code code;
  if (std::filesystem::is_directory(path, code))
    return folderIsNoPlan(path, use);
  Expected<plan::Plan> plan = plan::readPlan(path, folder);
  if (plan)
    device::setEnvironment(exec::environmentOf(*plan));
  return plan;
}

Expected<plan::Plan> agreeOnPlan(const comm::MpiSession& session,
                                 const std::string& path,
                                 Expected<plan::Plan> read) {
  RECIPERUN_TRY(session.agree(session.environment()));
  RECIPERUN_TRY(session.agree(read.status()));
  RECIPERUN_TRY(exec::comparePlans(session, *read, path));
  RECIPERUN_TRY(checkJob(*read, session.ranks()));
  return read;
}

Expected<Rank> joinRanks(comm::MpiSession& session, const plan::Plan& plan) {
  Expected<int> threads = exec::threadsOfRank(session);
  RECIPERUN_TRY(session.agree(threads.status()));
  StartTimes times;
  times.mark("program, MPI and plan");
  Expected<exec::RankDevice> opened = exec::openRank(
      session, plan, *threads, [&](const char* part) { times.mark(part); });
  RECIPERUN_TRY(opened);
  return Rank{*std::move(opened), std::move(times)};
}

} // namespace reciperun::train
