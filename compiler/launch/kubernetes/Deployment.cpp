// A Deployment of servers with a Service and, where there may be several, a
// HorizontalPodAutoscaler.

#include "compiler/launch/kubernetes/Manifests.h"
#include "compiler/launch/kubernetes/Monitor.h"
#include "compiler/launch/kubernetes/Pod.h"

#include <algorithm>

namespace recipec::launch {
namespace {

/// `/health` answers 503 while the model loads.
Json healthProbe(int period, int failures) {
  return {{"httpGet", {{"path", "/health"}, {"port", "http"}}},
          {"periodSeconds", period},
          {"failureThreshold", failures}};
}

Json serverPod(const Job& job) {
  Json pod = podTemplate(job, {.container = "server",
                               .command = scriptCommand("server.sh"),
                               .restartPolicy = "Always"});
  Json& container = pod["spec"]["containers"][0];
  container["ports"] = Json::array(
      {Json{{"name", "http"}, {"containerPort", job.settings.port}}});
  container["startupProbe"] = healthProbe(10, 90); // 15 minutes to load
  container["readinessProbe"] = healthProbe(5, 3);
  container["livenessProbe"] = healthProbe(10, 6);
  return pod;
}

Json serviceOf(const Job& job) {
  return {{"apiVersion", "v1"},
          {"kind", "Service"},
          {"metadata", metadataOf(job, job.label)},
          {"spec",
           {{"selector", {{"app.kubernetes.io/name", job.label}}},
            {"ports", Json::array({Json{{"name", "http"},
                                        {"port", job.settings.port},
                                        {"targetPort", "http"}}})}}}};
}

/// CPU servers scale by their cores. The load of a GPU server shows in the
/// requests that it computes, of which it has room for `serve.max_batch`.
Json loadMetric(const Job& job) {
  const int64_t load = job.settings.load;
  if (!job.hasGpus)
    return {{"type", "Resource"},
            {"resource",
             {{"name", "cpu"},
              {"target",
               {{"type", "Utilization"}, {"averageUtilization", load}}}}}};
  const int64_t requests = std::max<int64_t>(1, job.maxBatch * load / 100);
  return {{"type", "Pods"},
          {"pods",
           {{"metric", {{"name", "vllm_num_requests_running"}}},
            {"target",
             {{"type", "AverageValue"},
              {"averageValue", std::to_string(requests)}}}}}};
}

Json autoscaler(const Job& job) {
  return {{"apiVersion", "autoscaling/v2"},
          {"kind", "HorizontalPodAutoscaler"},
          {"metadata", metadataOf(job, job.label)},
          {"spec",
           {{"scaleTargetRef",
             {{"apiVersion", "apps/v1"},
              {"kind", "Deployment"},
              {"name", job.label}}},
            {"minReplicas", job.settings.replicas},
            {"maxReplicas", job.settings.maxReplicas},
            {"metrics", Json::array({loadMetric(job)})}}}};
}

} // namespace

std::vector<Json> deployment(const Job& job) {
  const bool isScaled = job.settings.maxReplicas > job.settings.replicas;
  std::vector<Json> objects = filesOf(job, {{"server.sh", serverScript(job)}});
  objects.push_back(serviceOf(job));
  Json spec = {
      {"selector", {{"matchLabels", {{"app.kubernetes.io/name", job.label}}}}}};
  if (!isScaled) // otherwise the autoscaler owns the number
    spec["replicas"] = job.settings.replicas;
  spec["template"] = serverPod(job);
  objects.push_back({{"apiVersion", "apps/v1"},
                     {"kind", "Deployment"},
                     {"metadata", metadataOf(job, job.label, true)},
                     {"spec", spec}});
  if (isScaled)
    objects.push_back(autoscaler(job));
  addServiceMonitor(job, objects);
  return objects;
}

Files manifestFiles(const std::vector<Job>& jobs,
                    std::vector<Json> (*objects)(const Job&)) {
  Files files;
  for (const Job& job : jobs)
    files.push_back({.name = (jobs.size() > 1 ? job.label : "job") + ".yaml",
                     .text = yamlOf(objects(job))});
  return files;
}

} // namespace recipec::launch
