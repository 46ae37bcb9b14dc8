// See RankJob.h.

#include "runtime/train/RankJob.h"

#include "runtime/base/Hash.h"
#include "runtime/checkpoint/FolderKind.h"
#include "runtime/comm/GroupName.h"
#include "runtime/exec/Devices.h"
#include "runtime/plan/Mesh.h"
#include "runtime/plan/PlanJson.h"
#include "runtime/train/Exceptions.h"
#include "runtime/train/Host.h"

#include <algorithm>
#include <cstdio>
#include <span>

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

/// Fails when ranks were started with different plans, whose collectives would
/// not match. Collective.
Status comparePlans(const comm::MpiSession& session, const plan::Plan& plan,
                    const std::string& path) {
  if (session.ranks() == 1)
    return Status::ok();
  const Hash mine = hashOf(plan::toJson(plan));
  const uint64_t words[] = {mine.high, mine.low};
  auto unlike = session.ranksUnlikeFirst(std::as_bytes(std::span(words)));
  RECIPERUN_TRY(session.agree(unlike.status()));
  const bool isUnlike = std::find(unlike->begin(), unlike->end(),
                                  session.rank()) != unlike->end();
  return session.agree(
      isUnlike
          ? Status::error("`" + path +
                          "` is another plan than that of rank 0, or its paths "
                          "start elsewhere; so it is on " +
                          comm::nameOfRanks(*unlike) +
                          ": start all ranks with one plan")
          : Status::ok());
}

/// Fails when several ranks use one GPU. Collective.
Status checkOwnDevice(const comm::MpiSession& session,
                      const device::Device& device) {
  const std::string identity = device.identity();
  if (identity.empty())
    return Status::ok();
  Expected<int> sharing =
      session.countOnHost(std::as_bytes(std::span(identity)));
  Status mine = sharing.status();
  if (sharing && *sharing > 1)
    mine =
        Status::error(std::to_string(*sharing) +
                      " ranks of this host have one GPU (`" + device.name() +
                      "`) between them, and a plan wants one for each; start "
                      "fewer ranks a host, or see `CUDA_VISIBLE_DEVICES`");
  return session.agree(mine);
}

} // namespace

int failTogether(const comm::MpiSession& session, const Status& status,
                 int code) {
  if (session.rank() == 0)
    std::fprintf(stderr, "error: %s\n", status.message().c_str());
  return code;
}

int refuseOnce(const cli::UsageError& error) {
  Expected<comm::MpiSession> session = comm::MpiSession::start();
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
  RECIPERUN_TRY(comparePlans(session, *read, path));
  RECIPERUN_TRY(checkJob(*read, session.ranks()));
  return read;
}

Expected<Rank> joinRanks(comm::MpiSession& session, const plan::Plan& plan) {
  Expected<int> threads = threadsOfRank(session);
  RECIPERUN_TRY(session.agree(threads.status()));
  Rank rank;
  rank.threads = *threads;
  rank.times.mark("program, MPI and plan");
  Expected<int> place = session.placeOnHost();
  RECIPERUN_TRY(session.agree(place.status()));
  auto device = exec::openDevice(plan, plan::stageOf(plan, session.rank()),
                                 *place, rank.threads);
  RECIPERUN_TRY(session.agree(device.status()));
  rank.device = *std::move(device);
  RECIPERUN_TRY(checkOwnDevice(session, *rank.device));
  rank.times.mark("device");
  auto communicator = session.connect(plan.mesh);
  RECIPERUN_TRY(session.agree(communicator.status()));
  communicator =
      exec::connectDevices(plan, *std::move(communicator), *rank.device);
  RECIPERUN_TRY(session.agree(communicator.status()));
  rank.communicator = *std::move(communicator);
  rank.times.mark("connections");
  return rank;
}

} // namespace reciperun::train
