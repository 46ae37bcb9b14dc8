// The script of the target `slurm`.

#ifndef RECIPEC_LAUNCH_SLURM_H
#define RECIPEC_LAUNCH_SLURM_H

#include "compiler/launch/Job.h"

#include <string>
#include <vector>

namespace recipec::launch {

/// The sbatch script of a job. The points of a sweep, which must need the same
/// nodes, become an array. The script of an elastic run asks for as many nodes
/// as are free between those of its layouts, and chooses the layout each time
/// it starts. `folder` is the absolute folder of the script, into which the
/// job's output goes: Slurm runs a copy of the script elsewhere.
std::string slurmScript(const std::vector<Job>& jobs,
                        const std::string& folder);

} // namespace recipec::launch

#endif // RECIPEC_LAUNCH_SLURM_H
