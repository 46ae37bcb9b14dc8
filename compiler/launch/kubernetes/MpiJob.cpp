// An MPIJob of Kubeflow's MPI operator, which makes the keys for ssh and the
// host file. Ranks run in the workers alone; the launcher runs mpirun.

#include "compiler/launch/kubernetes/Manifests.h"
#include "compiler/launch/kubernetes/Monitor.h"
#include "compiler/launch/kubernetes/Pod.h"

namespace recipec::launch {

std::vector<Json> mpiJob(const Job& job) {
  std::vector<Json> objects =
      filesOf(job, {{"launcher.sh", launcherScript(job, Ssh::operator_)},
                    {"worker.sh", workerScript(Ssh::operator_)}});
  Json policy = {{"cleanPodPolicy", "Running"},
                 {"backoffLimit", job.settings.restarts}};
  if (job.settings.seconds > 0)
    policy["activeDeadlineSeconds"] = job.settings.seconds;
  const auto replica = [&](int64_t count, const char* script, bool hasRanks) {
    return Json{{"replicas", count},
                {"restartPolicy", "OnFailure"},
                {"template", podTemplate(job, {.command = scriptCommand(script),
                                               .ssh = Ssh::operator_,
                                               .hasRanks = hasRanks,
                                               .restartPolicy = "OnFailure"})}};
  };
  Json worker = replica(job.nodes, "worker.sh", true);
  servesMetrics(job, worker["template"]);
  objects.push_back({{"apiVersion", "kubeflow.org/v2beta1"},
                     {"kind", "MPIJob"},
                     {"metadata", metadataOf(job, job.label, true)},
                     {"spec",
                      {{"slotsPerWorker", job.ranksPerNode},
                       {"mpiImplementation", "OpenMPI"},
                       {"launcherCreationPolicy", "WaitForWorkersReady"},
                       {"runPolicy", policy},
                       {"mpiReplicaSpecs",
                        {{"Launcher", replica(1, "launcher.sh", false)},
                         {"Worker", worker}}}}}});
  addPodMonitor(job, "training.kubeflow.org/replica-index", objects);
  return objects;
}

} // namespace recipec::launch
