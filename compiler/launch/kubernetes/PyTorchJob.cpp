// A PyTorchJob of Kubeflow's training operator. The master runs mpirun, which
// reaches the workers by the names of their Services; the operator's own
// rendezvous is not used.

#include "compiler/launch/kubernetes/Manifests.h"
#include "compiler/launch/kubernetes/Monitor.h"
#include "compiler/launch/kubernetes/Pod.h"

namespace recipec::launch {
namespace {

std::string hostfileOfMaster(const Job& job) {
  const std::string slots = " slots=" + std::to_string(job.ranksPerNode) + "\n";
  std::string text = job.label + "-master-0" + slots;
  for (int64_t i = 0; i + 1 < job.nodes; ++i)
    text += job.label + "-worker-" + std::to_string(i) + slots;
  return text;
}

} // namespace

std::vector<Json> pyTorchJob(const Job& job) {
  const bool isMany = job.nodes > 1;
  const Ssh ssh = isMany ? Ssh::secret : Ssh::none;
  const auto replica = [&](int64_t count, const char* script) {
    // The operator demands this name of the container.
    return Json{{"replicas", count},
                {"restartPolicy", "OnFailure"},
                {"template", podTemplate(job, {.container = "pytorch",
                                               .command = scriptCommand(script),
                                               .ssh = ssh,
                                               .restartPolicy = "OnFailure"})}};
  };
  Scripts scripts = {{"launcher.sh", launcherScript(job, ssh)}};
  Json master = replica(1, "launcher.sh");
  servesMetrics(job, master["template"]);
  Json replicas = {{"Master", std::move(master)}};
  if (isMany) {
    scripts.emplace_back("worker.sh", workerScript(ssh));
    scripts.emplace_back("hostfile", hostfileOfMaster(job));
    replicas["Worker"] = replica(job.nodes - 1, "worker.sh");
  }
  Json policy = {{"cleanPodPolicy", "Running"},
                 {"backoffLimit", job.settings.restarts}};
  if (job.settings.seconds > 0)
    policy["activeDeadlineSeconds"] = job.settings.seconds;
  std::vector<Json> objects = filesOf(job, scripts);
  objects.push_back(
      {{"apiVersion", "kubeflow.org/v1"},
       {"kind", "PyTorchJob"},
       {"metadata", metadataOf(job, job.label, true)},
       {"spec", {{"runPolicy", policy}, {"pytorchReplicaSpecs", replicas}}}});
  addPodMonitor(job, "", objects);
  return objects;
}

} // namespace recipec::launch
