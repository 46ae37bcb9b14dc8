// Objects by which the Prometheus operator finds the metrics of a job.

#ifndef RECIPEC_LAUNCH_KUBERNETES_MONITOR_H
#define RECIPEC_LAUNCH_KUBERNETES_MONITOR_H

#include "compiler/launch/Job.h"
#include "compiler/launch/kubernetes/Yaml.h"

#include <vector>

namespace recipec::launch {

/// Marks pods with the label that the PodMonitor selects, and names the port of
/// their container, if the run serves metrics. `podTemplate` is a
/// PodTemplateSpec whose pods may have rank 0.
void servesMetrics(const Job& job, Json& podTemplate);

/// Adds the PodMonitor of a training if `launch.monitor` is set. The pod of
/// rank 0 has `label` with the value 0 where several pods are marked; empty:
/// one is.
void addPodMonitor(const Job& job, const char* label,
                   std::vector<Json>& objects);

/// Adds the ServiceMonitor of a server if `launch.monitor` is set. The Service
/// has a port `http`.
void addServiceMonitor(const Job& job, std::vector<Json>& objects);

} // namespace recipec::launch

#endif // RECIPEC_LAUNCH_KUBERNETES_MONITOR_H
