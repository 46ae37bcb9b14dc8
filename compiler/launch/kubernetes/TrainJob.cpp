// A TrainJob of Kubeflow Trainer, and the TrainingRuntime that it refers to.
// The runtime's MPI policy makes the keys for ssh and the host file. The
// launcher is also a node.

#include "compiler/launch/kubernetes/Manifests.h"
#include "compiler/launch/kubernetes/Monitor.h"
#include "compiler/launch/kubernetes/Pod.h"

namespace recipec::launch {
namespace {

/// The controller knows containers and jobs by these names.
Json runtimeJob(const Job& job, const std::string& name,
                const std::string& script) {
  Json spec = {{"backoffLimit", 0}};
  if (job.settings.seconds > 0 && job.settings.trainer == "v2.1")
    spec["activeDeadlineSeconds"] = job.settings.seconds;
  spec["template"] = podTemplate(job, {.container = "node",
                                       .command = scriptCommand(script),
                                       .ssh = Ssh::operator_});
  return {{"name", name}, {"template", {{"spec", spec}}}};
}

Json trainingRuntime(const Job& job) {
  Json node = runtimeJob(job, "node", "worker.sh");
  Json launcher = runtimeJob(job, "launcher", "launcher.sh");
  launcher["template"]["metadata"] = {
      {"labels", {{"trainer.kubeflow.org/trainjob-ancestor-step", "trainer"}}}};
  servesMetrics(job, launcher["template"]["spec"]["template"]);
  // The host file has the pods in this order: rank 0 is in the launcher.
  Json jobs = Json::array({std::move(launcher)});
  if (job.nodes > 1)
    jobs.push_back(std::move(node));
  return {{"apiVersion", "trainer.kubeflow.org/v1alpha1"},
          {"kind", "TrainingRuntime"},
          {"metadata", metadataOf(job, job.label)},
          {"spec",
           {{"mlPolicy",
             {{"numNodes", job.nodes},
              {"mpi",
               {{"numProcPerNode", job.ranksPerNode},
                {"mpiImplementation", "OpenMPI"},
                {"sshAuthMountPath", "/root/.ssh"},
                {"runLauncherAsNode", true}}}}},
            {"template",
             {{"spec",
               {{"network", {{"publishNotReadyAddresses", true}}},
                {"successPolicy",
                 {{"operator", "All"},
                  {"targetReplicatedJobs", Json::array({"launcher"})}}},
                {"failurePolicy", {{"maxRestarts", job.settings.restarts}}},
                {"replicatedJobs", jobs}}}}}}}};
}

} // namespace

std::vector<Json> trainJob(const Job& job) {
  std::vector<Json> objects =
      filesOf(job, {{"launcher.sh", launcherScript(job, Ssh::operator_)},
                    {"worker.sh", workerScript(Ssh::operator_)}});
  objects.push_back(trainingRuntime(job));
  Json spec = {
      {"runtimeRef",
       {{"apiGroup", "trainer.kubeflow.org"},
        {"kind", "TrainingRuntime"},
        {"name", job.label}}},
      {"trainer",
       {{"numNodes", job.nodes}, {"numProcPerNode", job.ranksPerNode}}}};
  // Version 2.1 has no such field: there it is a field of the runtime's jobs.
  if (job.settings.seconds > 0 && job.settings.trainer != "v2.1")
    spec["activeDeadlineSeconds"] = job.settings.seconds;
  objects.push_back({{"apiVersion", "trainer.kubeflow.org/v1alpha1"},
                     {"kind", "TrainJob"},
                     {"metadata", metadataOf(job, job.label, true)},
                     {"spec", spec}});
  addPodMonitor(job, "", objects);
  return objects;
}

} // namespace recipec::launch
