// The Slurm cluster of this machine: what it would refuse, and submission.

#ifndef RECIPEC_LAUNCH_SLURMCLUSTER_H
#define RECIPEC_LAUNCH_SLURMCLUSTER_H

#include "compiler/launch/Check.h"

#include <optional>
#include <string>

namespace recipec::launch {

/// Asks the cluster whether it has the partition, the nodes and the account,
/// and then whether it would take the script. Reports the first reason why not.
/// Returns whether it would.
bool askSlurm(const Subject& subject, const std::string& script,
              diag::Engine& engine);

/// Submits a script. Returns the id of its job; reports why there is none.
std::optional<std::string> submitToSlurm(const Subject& subject,
                                         const std::string& script,
                                         diag::Engine& engine);

} // namespace recipec::launch

#endif // RECIPEC_LAUNCH_SLURMCLUSTER_H
