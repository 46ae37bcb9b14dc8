// A Job with an index for each node. Index 0 runs mpirun, and the job has
// succeeded when that has.

#include "compiler/launch/kubernetes/Manifests.h"
#include "compiler/launch/kubernetes/Monitor.h"
#include "compiler/launch/kubernetes/Pod.h"

namespace recipec::launch {
namespace {

/// The pods in the order of their indices.
std::string hostfileOfJob(const Job& job) {
  std::string text;
  for (int64_t i = 0; i < job.nodes; ++i)
    text += job.label + "-" + std::to_string(i) + "." + job.label +
            " slots=" + std::to_string(job.ranksPerNode) + "\n";
  return text;
}

constexpr const char* startByIndex = R"(#!/bin/bash
if [ "$JOB_COMPLETION_INDEX" -eq 0 ]; then exec bash /recipec/launcher.sh; fi
exec bash /recipec/worker.sh
)";

} // namespace

std::vector<Json> indexedJob(const Job& job) {
  const bool isMany = job.nodes > 1;
  const Ssh ssh = isMany ? Ssh::secret : Ssh::none;
  Scripts scripts = {{"launcher.sh", launcherScript(job, ssh)}};
  if (isMany) {
    scripts.emplace_back("worker.sh", workerScript(ssh));
    scripts.emplace_back("start.sh", startByIndex);
    scripts.emplace_back("hostfile", hostfileOfJob(job));
  }
  std::vector<Json> objects = filesOf(job, scripts);
  Json pod = podTemplate(
      job, {.command = scriptCommand(isMany ? "start.sh" : "launcher.sh"),
            .ssh = ssh});
  if (isMany)
    pod["spec"]["subdomain"] = job.label;
  servesMetrics(job, pod);
  Json spec = {{"completionMode", "Indexed"},
               {"completions", job.nodes},
               {"parallelism", job.nodes},
               {"backoffLimit", job.settings.restarts}};
  if (job.settings.seconds > 0)
    spec["activeDeadlineSeconds"] = job.settings.seconds;
  // A pod that a node has lost or that was preempted is no failure of the run.
  const Json disruption = {{"type", "DisruptionTarget"}, {"status", "True"}};
  spec["podFailurePolicy"]["rules"].push_back(
      {{"action", "Ignore"}, {"onPodConditions", Json::array({disruption})}});
  if (isMany) {
    spec["successPolicy"]["rules"].push_back({{"succeededIndexes", "0"}});
    objects.push_back(headlessService(job));
  }
  spec["template"] = std::move(pod);
  objects.push_back({{"apiVersion", "batch/v1"},
                     {"kind", "Job"},
                     {"metadata", metadataOf(job, job.label, true)},
                     {"spec", spec}});
  addPodMonitor(job, "batch.kubernetes.io/job-completion-index", objects);
  return objects;
}

} // namespace recipec::launch
