// See Monitor.h.

#include "compiler/launch/kubernetes/Monitor.h"

#include "compiler/launch/kubernetes/Pod.h"

namespace recipec::launch {
namespace {

constexpr const char* markLabel = "app.kubernetes.io/component";
constexpr const char* mark = "metrics";
constexpr const char* portName = "metrics";

Json monitorOf(const Job& job, const char* kind, Json labels, const char* field,
               const char* port) {
  Json metadata = metadataOf(job, job.label);
  for (const auto& [name, value] : *job.settings.monitor)
    metadata["labels"][name] = value;
  return {{"apiVersion", "monitoring.coreos.com/v1"},
          {"kind", kind},
          {"metadata", std::move(metadata)},
          {"spec",
           {{"selector", {{"matchLabels", std::move(labels)}}},
            {field, Json::array({Json{{"port", port},
                                      {"path", "/metrics"},
                                      {"interval", "15s"}}})}}}};
}

} // namespace

void servesMetrics(const Job& job, Json& podTemplate) {
  if (job.metricsPort == 0)
    return;
  podTemplate["metadata"]["labels"][markLabel] = mark;
  podTemplate["spec"]["containers"][0]["ports"] = Json::array(
      {Json{{"name", portName}, {"containerPort", job.metricsPort}}});
}

void addPodMonitor(const Job& job, const char* label,
                   std::vector<Json>& objects) {
  if (!job.settings.monitor)
    return;
  Json labels = {{"app.kubernetes.io/name", job.label}, {markLabel, mark}};
  if (*label)
    labels[label] = "0";
  objects.push_back(monitorOf(job, "PodMonitor", std::move(labels),
                              "podMetricsEndpoints", portName));
}

void addServiceMonitor(const Job& job, std::vector<Json>& objects) {
  if (!job.settings.monitor)
    return;
  objects.push_back(monitorOf(job, "ServiceMonitor",
                              {{"app.kubernetes.io/name", job.label}},
                              "endpoints", "http"));
}

} // namespace recipec::launch
