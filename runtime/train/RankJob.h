// The common part of the commands that run a plan on ranks: joining the job,
// reading the plan and reporting failures.

#ifndef RECIPERUN_TRAIN_RANKJOB_H
#define RECIPERUN_TRAIN_RANKJOB_H

#include "runtime/cli/Command.h"
#include "runtime/comm/MpiSession.h"
#include "runtime/exec/RankDevice.h"
#include "runtime/plan/Plan.h"
#include "runtime/train/StartTimes.h"

#include <functional>
#include <string>

namespace reciperun::train {

/// Prints an error that all ranks know, once. Returns the exit code.
int failTogether(const comm::MpiSession& session, const Status& status,
                 int code = 1);

/// Prints a command-line error, which all ranks have, once. Returns the exit
/// code.
int refuseOnce(const cli::UsageError& error);

/// Ends the job because of an error that only this rank knows.
[[noreturn]] void failAlone(comm::MpiSession& session, const Status& status);

/// Runs the part of a command that comes after the start of the job, and
/// returns its exit code. An exception ends the job, because other ranks may
/// wait for this one.
int runGuarded(comm::MpiSession& session, const std::function<int()>& part);

/// How a command takes the weights in a folder: "`reciperun eval PLAN
/// --checkpoint DIR`".
using FolderUse = std::function<std::string(const std::string& folder)>;

/// Reads the plan of a job and sets the environment variables that its devices
/// need. `folder` is that of readPlan. `use` describes the remedy when a folder
/// of weights is given in place of the plan. Call it before MPI starts, because
/// MPI starts threads and may call drivers.
Expected<plan::Plan> readJobPlan(const std::string& path,
                                 const std::string& folder,
                                 const FolderUse& use);

/// Returns the plan that readJobPlan read, after checking that all ranks have
/// the same plan and that the job has as many ranks as it needs. Fails on all
/// ranks with one message.
Expected<plan::Plan> agreeOnPlan(const comm::MpiSession& session,
                                 const std::string& path,
                                 Expected<plan::Plan> read);

/// The resources of a rank.
struct Rank : exec::RankDevice {
  StartTimes times; // of the start, until the ranks are connected
};
/// Opens the plan's devices and connects them. Collective; fails on all ranks
/// with one message.
Expected<Rank> joinRanks(comm::MpiSession& session, const plan::Plan& plan);

} // namespace reciperun::train

#endif // RECIPERUN_TRAIN_RANKJOB_H
