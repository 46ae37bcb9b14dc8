// 1. Set the environment of the libraries and start MPI.
// 2. Open the rank's device and connect the ranks by a plan without a program.
// 3. Run.

#include "runtime/bench/BenchRanks.h"

#include "runtime/exec/Devices.h"

#include <cstdio>
#include <exception>

namespace reciperun::bench {
namespace {

/// A plan whose ranks are one group, connected by NCCL without a limit on its
/// width.
plan::Plan planOf(const std::string& kind, int ranks, int ranksPerHost) {
  plan::Plan made;
  made.device = kind;
  made.mesh.ranks = ranks;
  made.mesh.axes = {{"dp", ranks}};
  made.mesh.groups = {{"all", {"dp"}}};
  made.stages.resize(1);
  if (kind != "cuda")
    return made;
  plan::GroupConnection all;
  all.axes = {"dp"};
  all.groups = {everyRank};
  made.connections.emplace();
  made.connections->ranksPerNode = ranksPerHost;
  made.connections->groups = {all};
  return made;
}

Status checkBuild(const std::string& kind) {
  if (kind == "cuda" && exec::gpuNames().empty())
    return Status::error(
        "this reciperun was built without CUDA; leave out "
        "`--device cuda`, or build it where CUDA 12.9 or later "
        "is");
  return Status::ok();
}

[[noreturn]] void failAlone(comm::MpiSession& session,
                            const std::string& message) {
  std::fflush(stdout);
  std::fprintf(stderr, "rank %d: error: %s\n", session.rank(), message.c_str());
  session.abort(1);
}

Expected<int> runOnRank(comm::MpiSession& session, const BenchStart& start,
                        const std::string& kind) {
  RECIPERUN_TRY(session.agree(session.environment()));
  RECIPERUN_TRY(session.agree(checkBuild(kind)));
  if (start.check)
    RECIPERUN_TRY(session.agree(start.check()));
  const Expected<int> threads = exec::threadsOfRank(session);
  RECIPERUN_TRY(session.agree(threads.status()));
  const std::byte same[] = {std::byte(0)};
  const Expected<int> onHost = session.countOnHost(same);
  RECIPERUN_TRY(session.agree(onHost.status()));
  const plan::Plan plan = planOf(kind, session.ranks(), *onHost);
  auto rank = exec::openRank(session, plan, *threads);
  RECIPERUN_TRY(rank);
  const Expected<int> place = session.placeOnHost();
  RECIPERUN_TRY(session.agree(place.status()));
  return start.run(
      {*rank->device, *rank->communicator, kind == "cuda", *place,
       [&](const Status& status) { failAlone(session, status.message()); }});
}

} // namespace

int runOnRanks(const BenchStart& start) {
  std::string kind = start.device;
  if (kind.empty())
    kind = exec::gpuNames().empty() ? "cpu" : "cuda";
  device::setEnvironment(exec::environmentOf(planOf(kind, 2, 2)));
  auto session = comm::MpiSession::start();
  if (!session) {
    std::fprintf(stderr, "error: %s\n", session.message().c_str());
    return 1;
  }
  try {
    const Expected<int> code = runOnRank(*session, start, kind);
    if (code)
      return *code;
    if (session->rank() == 0)
      std::fprintf(stderr, "error: %s\n", code.message().c_str());
    return 1;
  } catch (const std::exception& exception) {
    failAlone(*session, exception.what());
  }
}

} // namespace reciperun::bench
