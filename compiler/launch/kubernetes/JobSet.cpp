// A JobSet of a launcher and, on several nodes, of workers. It has succeeded
// when the launcher has; after a failure all pods are created anew.

#include "compiler/launch/kubernetes/Manifests.h"
#include "compiler/launch/kubernetes/Monitor.h"
#include "compiler/launch/kubernetes/Pod.h"

namespace recipec::launch {
namespace {

std::string hostOf(const Job& job, const std::string& role, int64_t pod) {
  return job.label + "-" + role + "-0-" + std::to_string(pod) + "." + job.label;
}

std::string hostfileOfSet(const Job& job) {
  const std::string slots = " slots=" + std::to_string(job.ranksPerNode) + "\n";
  std::string text = hostOf(job, "launcher", 0) + slots;
  for (int64_t i = 0; i + 1 < job.nodes; ++i)
    text += hostOf(job, "worker", i) + slots;
  return text;
}

Json replicatedJob(const Job& job, const std::string& name, int64_t pods,
                   Ssh ssh) {
  Json spec = {{"completionMode", "Indexed"},
               {"completions", pods},
               {"parallelism", pods},
               {"backoffLimit", 0}};
  if (job.settings.seconds > 0)
    spec["activeDeadlineSeconds"] = job.settings.seconds;
  spec["template"] =
      podTemplate(job, {.command = scriptCommand(name + ".sh"), .ssh = ssh});
  return {{"name", name}, {"replicas", 1}, {"template", {{"spec", spec}}}};
}

} // namespace

std::vector<Json> jobSet(const Job& job) {
  const bool isMany = job.nodes > 1;
  const Ssh ssh = isMany ? Ssh::secret : Ssh::none;
  Scripts scripts = {{"launcher.sh", launcherScript(job, ssh)}};
  Json launcher = replicatedJob(job, "launcher", 1, ssh);
  servesMetrics(job, launcher["template"]["spec"]["template"]);
  Json jobs = Json::array({std::move(launcher)});
  if (isMany) {
    scripts.emplace_back("worker.sh", workerScript(ssh));
    scripts.emplace_back("hostfile", hostfileOfSet(job));
    jobs.push_back(replicatedJob(job, "worker", job.nodes - 1, ssh));
  }
  std::vector<Json> objects = filesOf(job, scripts);
  objects.push_back(
      {{"apiVersion", "jobset.x-k8s.io/v1alpha2"},
       {"kind", "JobSet"},
       {"metadata", metadataOf(job, job.label, true)},
       {"spec",
        {{"network",
          {{"enableDNSHostnames", true},
           {"subdomain", job.label},
           {"publishNotReadyAddresses", true}}},
         {"successPolicy",
          {{"operator", "All"},
           {"targetReplicatedJobs", Json::array({"launcher"})}}},
         {"failurePolicy", {{"maxRestarts", job.settings.restarts}}},
         {"replicatedJobs", jobs}}}});
  addPodMonitor(job, "", objects);
  return objects;
}

} // namespace recipec::launch
