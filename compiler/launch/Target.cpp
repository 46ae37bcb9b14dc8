// See Target.h.

#include "compiler/launch/Target.h"

#include "compiler/launch/Mpirun.h"
#include "compiler/launch/Slurm.h"
#include "compiler/launch/kubernetes/Manifests.h"

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

template <std::vector<Json> (*objects)(const Job&)>
Files writeObjects(const std::vector<Job>& jobs, const Place&) {
  return manifestFiles(jobs, objects);
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
    {.name = "k8s-job",
     .help = "a Job of Kubernetes",
     .system = System::kubernetes,
     .needsKeys = true,
     .write = writeObjects<indexedJob>},
    {.name = "jobset",
     .help = "a JobSet of Kubernetes",
     .system = System::kubernetes,
     .needsKeys = true,
     .write = writeObjects<jobSet>},
    {.name = "pytorchjob",
     .help = "a PyTorchJob of Kubeflow's training operator",
     .system = System::kubernetes,
     .needsKeys = true,
     .write = writeObjects<pyTorchJob>},
    {.name = "mpijob",
     .help = "an MPIJob of Kubeflow's MPI operator",
     .system = System::kubernetes,
     .write = writeObjects<mpiJob>},
    {.name = "trainjob",
     .help = "a TrainJob of Kubeflow Trainer",
     .system = System::kubernetes,
     .write = writeObjects<trainJob>},
    {.name = "deployment",
     .help = "servers in a Deployment of Kubernetes",
     .system = System::kubernetes,
     .serves = true,
     .write = writeObjects<deployment>},
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
