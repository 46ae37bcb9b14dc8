// See RankJob.h.

#include "runtime/train/RankJob.h"

#include "runtime/exec/Devices.h"
#include "runtime/plan/Mesh.h"
#include "runtime/plan/PlanJson.h"
#include "runtime/train/Host.h"

#include <cstdio>
#include <span>

namespace reciperun::train {
namespace {

Status checkJob(const plan::Plan& plan, int ranks) {
  std::string started = std::to_string(ranks);
  std::string wanted = std::to_string(plan.mesh.ranks);
  if (plan.task == "generate")
    return Status::error("the plan is of task `generate`: answer prompts with "
                         "`reciperun generate` and the model's folder");
  if (plan.mesh.ranks != ranks)
    return Status::error("the plan wants " + wanted +
                         " ranks and the job has " + started +
                         "; start it with `mpirun -np " + wanted +
                         "`, or compile the recipe with `--set "
                         "cluster.ranks=" +
                         started + "`");
  return Status::ok();
}

/// A GPU has one rank. Collective.
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

void failAlone(comm::MpiSession& session, const Status& status) {
  std::fflush(stdout);
  std::fprintf(stderr, "rank %d: error: %s\n", session.rank(),
               status.message().c_str());
  session.abort(1);
}

Expected<plan::Plan> readRankPlan(const comm::MpiSession& session,
                                  const std::string& path) {
  RECIPERUN_TRY(session.agree(session.environment()));
  Expected<plan::Plan> read = plan::readPlan(path);
  RECIPERUN_TRY(session.agree(read.status()));
  RECIPERUN_TRY(checkJob(*read, session.ranks()));
  int stage = plan::coordinate(read->mesh, session.rank(), "pp");
  return plan::select(std::move(*read), stage);
}

Expected<Rank> joinRanks(comm::MpiSession& session, const plan::Plan& plan) {
  Expected<int> threads = threadsOfRank(session);
  RECIPERUN_TRY(session.agree(threads.status()));
  Rank rank;
  rank.threads = *threads;
  rank.times.mark("program, MPI and plan");
  Expected<int> place = session.placeOnHost();
  RECIPERUN_TRY(session.agree(place.status()));
  auto device = exec::openDevice(plan, *place, rank.threads);
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
