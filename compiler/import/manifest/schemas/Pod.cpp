// The fields of pods, by the API reference of Kubernetes.

#include "compiler/import/manifest/schemas/Schemas.h"

namespace recipec::importer::manifest {

const std::string_view podTypes = R"(
type Metadata = {
  name string, generateName string, namespace label, labels map string,
  annotations map string, finalizers [string], ownerReferences [any], uid string,
  resourceVersion string, generation int, creationTimestamp any,
  managedFields [any], selfLink string, deletionTimestamp any,
  deletionGracePeriodSeconds int
}
type PodTemplate = {metadata Metadata, spec* PodSpec}
type Requirement = {
  key* string, operator* In | NotIn | Exists | DoesNotExist | Gt | Lt,
  values [string]
}
type Selector = {matchLabels map string, matchExpressions [Requirement]}
type LocalReference = {name string}

type PodSpec = {
  activeDeadlineSeconds positive, affinity Affinity,
  automountServiceAccountToken bool, containers* [Container], dnsConfig DnsConfig,
  dnsPolicy ClusterFirst | ClusterFirstWithHostNet | Default | None,
  enableServiceLinks bool, ephemeralContainers [any],
  hostAliases [{ip* string, hostnames [string]}], hostIPC bool, hostNetwork bool,
  hostPID bool, hostUsers bool, hostname label, hostnameOverride string,
  imagePullSecrets [LocalReference], initContainers [Container], nodeName string,
  nodeSelector map string, os {name* string}, overhead map quantity,
  preemptionPolicy PreemptLowerPriority | Never, priority int,
  priorityClassName string, readinessGates [{conditionType* string}],
  resourceClaims [{name* string, resourceClaimName string,
    resourceClaimTemplateName string}],
  resources Resources, restartPolicy Always | OnFailure | Never,
  runtimeClassName string, schedulerName string, schedulingGates [{name* string}],
  schedulingGroup {podGroupName string}, securityContext PodSecurity,
  serviceAccount string, serviceAccountName string, setHostnameAsFQDN bool,
  shareProcessNamespace bool, subdomain label, terminationGracePeriodSeconds count,
  tolerations [Toleration], topologySpreadConstraints [Spread], volumes [Volume]
}

type Container = {
  name* label, image string, command [string], args [string], env [EnvVar],
  envFrom [EnvSource], imagePullPolicy Always | IfNotPresent | Never,
  lifecycle {postStart Handler, preStop Handler, stopSignal string},
  livenessProbe Probe, readinessProbe Probe, startupProbe Probe,
  ports [ContainerPort], resizePolicy [{resourceName* string,
    restartPolicy* string}],
  resources Resources, restartPolicy Always | OnFailure | Never,
  restartPolicyRules [any],
  securityContext Security, stdin bool, stdinOnce bool,
  terminationMessagePath string,
  terminationMessagePolicy File | FallbackToLogsOnError, tty bool,
  volumeDevices [{devicePath* string, name* string}],
  volumeMounts [VolumeMount], workingDir string
}
type ContainerPort = {
  containerPort* positive, hostIP string, hostPort positive, name string,
  protocol TCP | UDP | SCTP
}
type EnvVar = {
  name* string, value string,
  valueFrom {
    configMapKeyRef {key* string, name string, optional bool},
    secretKeyRef {key* string, name string, optional bool},
    fieldRef {apiVersion string, fieldPath* string},
    resourceFieldRef {containerName string, divisor quantity, resource* string},
    fileKeyRef {key* string, optional bool, path* string, volumeName* string}
  }
}
type EnvSource = {
  prefix string, configMapRef {name string, optional bool},
  secretRef {name string, optional bool}
}
type Resources = {
  limits map quantity, requests map quantity,
  claims [{name* string, request string}]
}
type Probe = {
  exec {command [string]}, grpc {port* positive, service string},
  httpGet HttpGet, tcpSocket {host string, port* int-or-string},
  failureThreshold positive, initialDelaySeconds count, periodSeconds positive,
  successThreshold positive, terminationGracePeriodSeconds positive,
  timeoutSeconds positive
}
type HttpGet = {
  host string, httpHeaders [{name* string, value* string}], path string,
  port* int-or-string, scheme HTTP | HTTPS
}
type Handler = {
  exec {command [string]}, httpGet HttpGet, sleep {seconds* count},
  tcpSocket {host string, port* int-or-string}
}
type VolumeMount = {
  mountPath* string, mountPropagation string, name* string, readOnly bool,
  recursiveReadOnly string, subPath string, subPathExpr string
}
type SeLinux = {level string, role string, type string, user string}
type Profile = {
  type* RuntimeDefault | Unconfined | Localhost, localhostProfile string
}
type Security = {
  allowPrivilegeEscalation bool, appArmorProfile Profile,
  capabilities {add [string], drop [string]}, privileged bool, procMount string,
  readOnlyRootFilesystem bool, runAsGroup int, runAsNonRoot bool, runAsUser int,
  seLinuxOptions SeLinux, seccompProfile Profile, windowsOptions any
}
type PodSecurity = {
  appArmorProfile Profile, fsGroup int,
  fsGroupChangePolicy OnRootMismatch | Always, runAsGroup int, runAsNonRoot bool,
  runAsUser int, seLinuxChangePolicy string, seLinuxOptions SeLinux,
  seccompProfile Profile, supplementalGroups [int],
  supplementalGroupsPolicy Merge | Strict,
  sysctls [{name* string, value* string}], windowsOptions any
}
type Toleration = {
  effect NoSchedule | PreferNoSchedule | NoExecute, key string,
  operator Exists | Equal | Lt | Gt, tolerationSeconds int, value string
}
type Spread = {
  labelSelector Selector, matchLabelKeys [string], maxSkew* positive,
  minDomains positive, nodeAffinityPolicy Honor | Ignore,
  nodeTaintsPolicy Honor | Ignore, topologyKey* string,
  whenUnsatisfiable* DoNotSchedule | ScheduleAnyway
}
type DnsConfig = {
  nameservers [string], searches [string], options [{name string, value string}]
}
type NodeTerm = {matchExpressions [Requirement], matchFields [Requirement]}
type PodTerm = {
  labelSelector Selector, matchLabelKeys [string], mismatchLabelKeys [string],
  namespaceSelector Selector, namespaces [string], topologyKey* string
}
type PodTerms = {
  preferredDuringSchedulingIgnoredDuringExecution
    [{podAffinityTerm* PodTerm, weight* positive}],
  requiredDuringSchedulingIgnoredDuringExecution [PodTerm]
}
type Affinity = {
  nodeAffinity {
    preferredDuringSchedulingIgnoredDuringExecution
      [{preference* NodeTerm, weight* positive}],
    requiredDuringSchedulingIgnoredDuringExecution
      {nodeSelectorTerms* [NodeTerm]}
  },
  podAffinity PodTerms, podAntiAffinity PodTerms
}
)";

} // namespace recipec::importer::manifest
