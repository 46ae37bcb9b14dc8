// See RankJob.h.

#include "runtime/train/RankJob.h"

#include "runtime/plan/Mesh.h"
#include "runtime/plan/PlanJson.h"
#include "runtime/train/Host.h"

#include <cstdio>

namespace reciperun::train {
namespace {

Status checkJob(const plan::Plan& plan, int ranks) {
  std::string started = std::to_string(ranks);
  std::string wanted = std::to_string(plan.mesh.ranks);
  if (plan.task == "generate")
    return Status::error("the plan is of task `generate`: answer prompts with "
                         "`reciperun generate` and the model's folder");
  if (plan.device != "cpu")
    return Status::error("the plan is for `" + plan.device +
                         "`, and this build has ranks on `cpu` alone; compile "
                         "the recipe with `--set cluster.hardware=cpu`");
  if (plan.mesh.ranks != ranks)
    return Status::error("the plan wants " + wanted +
                         " ranks and the job has " + started +
                         "; start it with `mpirun -np " + wanted +
                         "`, or compile the recipe with `--set "
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

void failAlone(comm::MpiSession& session, const Status& status) {
  std::fflush(stdout);
  std::fprintf(stderr, "rank %d: error: %s\n", session.rank(),
               status.message().c_str());
  session.abort(1);
}

Expected<plan::Plan> readRankPlan(const comm::MpiSession& session,
                                  const std::string& path) {
  Expected<plan::Plan> read = plan::readPlan(path);
  RECIPERUN_TRY(session.agree(read.status()));
  RECIPERUN_TRY(checkJob(*read, session.ranks()));
  int stage = plan::coordinate(read->mesh, session.rank(), "pp");
  return plan::select(std::move(*read), stage);
}

Expected<Rank> joinRanks(comm::MpiSession& session, const plan::Mesh& mesh) {
  Expected<int> threads = threadsOfRank(session);
  Expected<std::unique_ptr<comm::Communicator>> communicator =
      session.connect(mesh);
  for (const Status& status : {threads.status(), communicator.status()})
    RECIPERUN_TRY(session.agree(status));
  return Rank{*threads, std::move(*communicator)};
}

} // namespace reciperun::train
