// A rank of a job: its plan, threads, device and connections to the others.

#ifndef RECIPERUN_EXEC_RANKDEVICE_H
#define RECIPERUN_EXEC_RANKDEVICE_H

#include "runtime/comm/MpiSession.h"
#include "runtime/device/Device.h"
#include "runtime/plan/Plan.h"

#include <functional>
#include <memory>
#include <string>

namespace reciperun::exec {

/// Fails when ranks were started with different plans, whose collectives would
/// not match. The message names `path`. Collective.
Status comparePlans(const comm::MpiSession& session, const plan::Plan& plan,
                    const std::string& path);

/// The number of threads for this rank: `OMP_NUM_THREADS`, or the cores in its
/// affinity mask divided by the ranks on this host with the same mask; at least
/// 1. Collective; may fail on some ranks.
Expected<int> threadsOfRank(const comm::MpiSession& session);

/// The resources of a rank.
struct RankDevice {
  int threads = 1; // of the host
  std::unique_ptr<device::Device> device;
  std::unique_ptr<comm::Communicator> communicator;
};

/// Opens the plan's devices and connects them, with `threads` threads of the
/// host. Calls `mark`, unless it is null, with the name of each part of the
/// start when that part is done. Collective; fails on all ranks with one
/// message.
Expected<RankDevice>
openRank(comm::MpiSession& session, const plan::Plan& plan, int threads,
         const std::function<void(const char* part)>& mark = {});

/// The resources of the only rank of a plan, without MPI.
Expected<RankDevice> openOnlyRank(const plan::Plan& plan, int threads);

} // namespace reciperun::exec

#endif // RECIPERUN_EXEC_RANKDEVICE_H
