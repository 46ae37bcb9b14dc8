// See RankDevice.h.

#include "runtime/exec/RankDevice.h"

#include "runtime/base/Hash.h"
#include "runtime/comm/GroupName.h"
#include "runtime/comm/LocalCommunicator.h"
#include "runtime/device/cpu/Threads.h"
#include "runtime/exec/Devices.h"
#include "runtime/plan/Mesh.h"
#include "runtime/plan/PlanJson.h"

#include <algorithm>
#include <span>

namespace reciperun::exec {
namespace {

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

Expected<int> threadsOfRank(const comm::MpiSession& session) {
  // A launcher that binds ranks to cores has already divided them, so only
  // ranks with the same mask share its cores.
  const cpu_set_t mask = device::coreMask();
  Expected<int> sharing =
      session.countOnHost(std::as_bytes(std::span(&mask, 1)));
  RECIPERUN_TRY(sharing);
  return device::threadsOfProcess(*sharing);
}

Expected<RankDevice>
openRank(comm::MpiSession& session, const plan::Plan& plan, int threads,
         const std::function<void(const char* part)>& mark) {
  RankDevice rank;
  rank.threads = threads;
  Expected<int> place = session.placeOnHost();
  RECIPERUN_TRY(session.agree(place.status()));
  auto device = openDevice(plan, plan::stageOf(plan, session.rank()), *place,
                           rank.threads);
  RECIPERUN_TRY(session.agree(device.status()));
  rank.device = *std::move(device);
  RECIPERUN_TRY(checkOwnDevice(session, *rank.device));
  if (mark)
    mark("device");
  auto communicator = session.connect(plan.mesh);
  RECIPERUN_TRY(session.agree(communicator.status()));
  communicator = connectDevices(plan, *std::move(communicator), *rank.device);
  RECIPERUN_TRY(session.agree(communicator.status()));
  rank.communicator = *std::move(communicator);
  if (mark)
    mark("connections");
  return rank;
}

Expected<RankDevice> openOnlyRank(const plan::Plan& plan, int threads) {
  RankDevice rank;
  rank.threads = threads;
  auto device = openDevice(plan, plan.stages.front(), /*place=*/0, threads);
  RECIPERUN_TRY(device);
  rank.device = *std::move(device);
  auto communicator = connectDevices(
      plan, std::make_unique<comm::LocalCommunicator>(), *rank.device);
  RECIPERUN_TRY(communicator);
  rank.communicator = *std::move(communicator);
  return rank;
}

} // namespace reciperun::exec
