// The fields of Kubernetes' own objects, by its API reference.

#include "compiler/import/manifest/schemas/Schemas.h"

namespace recipec::importer::manifest {

const std::string_view workloadTypes = R"(
type Pod = {
  apiVersion* string, kind* string, metadata* Metadata, spec* PodSpec, status any
}
type Job = {
  apiVersion* string, kind* string, metadata* Metadata, spec* JobSpec, status any
}
type JobSpec = {
  activeDeadlineSeconds positive, backoffLimit count, backoffLimitPerIndex count,
  completionMode Indexed | NonIndexed, completions count, managedBy string,
  manualSelector bool, maxFailedIndexes count, parallelism count,
  podFailurePolicy {rules* [{
    action* FailJob | FailIndex | Ignore | Count,
    onExitCodes {containerName string, operator* In | NotIn, values* [int]},
    onPodConditions [{type* string, status string}]
  }]},
  podReplacementPolicy TerminatingOrFailed | Failed, selector Selector,
  successPolicy {rules* [{succeededCount positive, succeededIndexes string}]},
  suspend bool, template* PodTemplate, ttlSecondsAfterFinished count
}
type CronJob = {
  apiVersion* string, kind* string, metadata* Metadata, status any,
  spec* {
    concurrencyPolicy Allow | Forbid | Replace, failedJobsHistoryLimit count,
    jobTemplate* {metadata Metadata, spec* JobSpec}, schedule* string,
    startingDeadlineSeconds count, successfulJobsHistoryLimit count, suspend bool,
    timeZone string
  }
}
type Deployment = {
  apiVersion* string, kind* string, metadata* Metadata, status any,
  spec* {
    minReadySeconds count, paused bool, progressDeadlineSeconds count,
    replicas count, revisionHistoryLimit count, selector* Selector,
    strategy {type Recreate | RollingUpdate,
      rollingUpdate {maxSurge int-or-string, maxUnavailable int-or-string}},
    template* PodTemplate
  }
}
type ReplicaSet = {
  apiVersion* string, kind* string, metadata* Metadata, status any,
  spec* {minReadySeconds count, replicas count, selector* Selector,
    template PodTemplate}
}
type DaemonSet = {
  apiVersion* string, kind* string, metadata* Metadata, status any,
  spec* {
    minReadySeconds count, revisionHistoryLimit count, selector* Selector,
    template* PodTemplate,
    updateStrategy {type RollingUpdate | OnDelete,
      rollingUpdate {maxSurge int-or-string, maxUnavailable int-or-string}}
  }
}
type StatefulSet = {
  apiVersion* string, kind* string, metadata* Metadata, status any,
  spec* {
    minReadySeconds count, ordinals {start count},
    persistentVolumeClaimRetentionPolicy {whenDeleted Retain | Delete,
      whenScaled Retain | Delete},
    podManagementPolicy OrderedReady | Parallel, replicas count,
    revisionHistoryLimit count, selector* Selector, serviceName string,
    template* PodTemplate,
    updateStrategy {type RollingUpdate | OnDelete,
      rollingUpdate {maxUnavailable int-or-string, partition count}},
    volumeClaimTemplates [any]
  }
}
type ServicePort = {
  appProtocol string, name string, nodePort positive, port* positive,
  protocol TCP | UDP | SCTP, targetPort int-or-string
}
type Service = {
  apiVersion* string, kind* string, metadata* Metadata, status any,
  spec* {
    allocateLoadBalancerNodePorts bool, clusterIP string, clusterIPs [string],
    externalIPs [string], externalName string,
    externalTrafficPolicy Cluster | Local, healthCheckNodePort int,
    internalTrafficPolicy Cluster | Local, ipFamilies [string],
    ipFamilyPolicy SingleStack | PreferDualStack | RequireDualStack,
    loadBalancerClass string, loadBalancerIP string,
    loadBalancerSourceRanges [string], ports [ServicePort],
    publishNotReadyAddresses bool, selector map string,
    sessionAffinity ClientIP | None,
    sessionAffinityConfig {clientIP {timeoutSeconds int}},
    trafficDistribution string,
    type ClusterIP | NodePort | LoadBalancer | ExternalName
  }
}
type MetricTarget = {
  type* Utilization | Value | AverageValue, averageUtilization positive,
  averageValue quantity, value quantity
}
type MetricName = {name* string, selector Selector}
type ObjectReference = {apiVersion string, kind* string, name* string}
type ScalingRules = {
  policies [{periodSeconds* positive, type* Pods | Percent, value* positive}],
  selectPolicy Max | Min | Disabled, stabilizationWindowSeconds count,
  tolerance quantity
}
type Autoscaler = {
  apiVersion* string, kind* string, metadata* Metadata, status any,
  spec* {
    behavior {scaleDown ScalingRules, scaleUp ScalingRules},
    maxReplicas* positive, minReplicas count, scaleTargetRef* ObjectReference,
    metrics [{
      type* Resource | Pods | Object | External | ContainerResource,
      resource {name* string, target* MetricTarget},
      containerResource {container* string, name* string, target* MetricTarget},
      pods {metric* MetricName, target* MetricTarget},
      object {describedObject* ObjectReference, metric* MetricName,
        target* MetricTarget},
      external {metric* MetricName, target* MetricTarget}
    }]
  }
}
type Claim = {
  apiVersion* string, kind* string, metadata* Metadata, spec* ClaimSpec,
  status any
}
type ConfigMap = {
  apiVersion* string, kind* string, metadata* Metadata, data map string,
  binaryData map string, immutable bool
}
type Secret = {
  apiVersion* string, kind* string, metadata* Metadata, data map string,
  stringData map string, immutable bool, type string
}
type Named = {apiVersion* string, kind* string, metadata* Metadata, spec any,
  status any}
type ServiceAccount = {
  apiVersion* string, kind* string, metadata* Metadata,
  automountServiceAccountToken bool, imagePullSecrets [LocalReference],
  secrets [any]
}
type PriorityClass = {
  apiVersion* string, kind* string, metadata* Metadata, description string,
  globalDefault bool, preemptionPolicy PreemptLowerPriority | Never, value* int
}
)";

} // namespace recipec::importer::manifest
