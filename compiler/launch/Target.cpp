// See Target.h.

#include "compiler/launch/Target.h"

#include "compiler/launch/Mpirun.h"
#include "compiler/launch/Slurm.h"

namespace recipec::launch {
namespace {

Files writeMpirun(const std::vector<Job>& jobs, const Place& place) {
  return {{.name = "job.sh",
           .text = mpirunScript(jobs, place.hostfile, place.folder),
           .isProgram = true}};
}

Files writeSlurm(const std::vector<Job>& jobs, const Place& place) {
  return {{.name = "job.sbatch", .text = slurmScript(jobs, place.folder)}};
}

constexpr Target allTargets[] = {
    {.name = "mpirun",
     .help = "a script for this host, or for those of --hostfile",
     .system = System::shell,
     .write = writeMpirun},
    {.name = "slurm",
     .help = "an sbatch script",
     .system = System::slurm,
     .write = writeSlurm},
};

} // namespace

std::span<const Target> targets() {
  return allTargets;
}

const Target* findTarget(std::string_view name) {
  for (const Target& each : allTargets)
    if (each.name == name)
      return &each;
  return nullptr;
}

} // namespace recipec::launch
