// What the commands that run a plan on ranks have in common: how they join the
// job, how they read the plan, and how they fail.

#ifndef RECIPERUN_TRAIN_RANKJOB_H
#define RECIPERUN_TRAIN_RANKJOB_H

#include "runtime/cli/Command.h"
#include "runtime/comm/MpiSession.h"
#include "runtime/device/Device.h"
#include "runtime/plan/Plan.h"
#include "runtime/train/StartTimes.h"

#include <functional>
#include <memory>
#include <string>

namespace reciperun::train {

/// Prints an error that all ranks know of, once; the exit code comes back.
int failTogether(const comm::MpiSession& session, const Status& status,
                 int code = 1);

/// Prints a mistake in the command line, which all ranks were given, once; the
/// exit code comes back.
int refuseOnce(const cli::UsageError& error);

/// Ends the job for an error that only this rank knows of.
[[noreturn]] void failAlone(comm::MpiSession& session, const Status& status);

/// Runs a command's part behind the start of the job, and gives its exit code.
/// An exception ends the job: other ranks may wait for this one.
int runGuarded(comm::MpiSession& session, const std::function<int()>& part);

/// Reads a job's plan, `folder` being as readPlan takes it, and sets the
/// environment that its devices need. Called before MPI starts, which starts
/// threads and may call drivers.
Expected<plan::Plan> readJobPlan(const std::string& path,
                                 const std::string& folder);

/// The plan as readJobPlan has `read` it, where all ranks have the same one and
/// it trains on as many ranks as the job has. Fails on all ranks with one
/// message.
Expected<plan::Plan> agreeOnPlan(const comm::MpiSession& session,
                                 const std::string& path,
                                 Expected<plan::Plan> read);

/// What a rank works with.
struct Rank {
  int threads = 1; // of the host
  std::unique_ptr<device::Device> device;
  std::unique_ptr<comm::Communicator> communicator;
  StartTimes times; // of the start, up to where the ranks are connected
};
/// Opens the devices that the plan is for and connects them. Collective; fails
/// on all ranks with one message.
Expected<Rank> joinRanks(comm::MpiSession& session, const plan::Plan& plan);

} // namespace reciperun::train

#endif // RECIPERUN_TRAIN_RANKJOB_H
