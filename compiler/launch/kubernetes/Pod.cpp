// See Pod.h.

#include "compiler/launch/kubernetes/Pod.h"

#include "compiler/launch/Shell.h"
#include "compiler/launch/kubernetes/Gzip.h"

#include <algorithm>

namespace recipec::launch {
namespace {

/// In MiB, rounded up.
std::string quantityOf(int64_t bytes) {
  const int64_t mebibyte = int64_t(1) << 20;
  return std::to_string((bytes + mebibyte - 1) / mebibyte) + "Mi";
}

std::string configMapName(const Job& job) {
  return job.label + "-recipe";
}

Json environmentJson(const Job& job) {
  Json list = Json::array();
  for (const Variable& each : environmentOf(job)) {
    Json variable = {{"name", each.name}};
    if (each.secret)
      variable["valueFrom"] = {
          {"secretKeyRef",
           {{"name", each.secret->name}, {"key", each.secret->key}}}};
    else
      variable["value"] = each.text;
    list.push_back(std::move(variable));
  }
  // Open MPI refuses to run as root, which most images do.
  for (const char* name :
       {"OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"})
    list.push_back({{"name", name}, {"value", "1"}});
  return list;
}

Json resourcesOf(const Job& job, bool hasRanks) {
  if (!hasRanks)
    return {{"requests", {{"cpu", "1"}, {"memory", "1Gi"}}},
            {"limits", {{"memory", "1Gi"}}}};
  const Settings& settings = job.settings;
  // `/dev/shm` counts as memory of the pod.
  const std::string memory = quantityOf(job.hostBytes + settings.sharedMemory);
  Json limits = {{"memory", memory}};
  if (job.hasGpus)
    limits[settings.gpuResource] = std::to_string(job.ranksPerNode);
  for (const auto& [name, count] : settings.resources)
    limits[name] = std::to_string(count);
  Json requests = {{"cpu", std::to_string(settings.cpus * job.ranksPerNode)}};
  requests.update(limits);
  return {{"requests", requests}, {"limits", limits}};
}

/// Whether the ranks register memory with network adapters, which locks it.
bool usesRdma(const Settings& settings) {
  return std::ranges::any_of(settings.resources, [](const auto& each) {
    return each.first.starts_with("rdma/") ||
           each.first.find("hostdev") != std::string::npos ||
           each.first.find("sriov") != std::string::npos;
  });
}

/// The volumes of a pod and their mounts, which have the same order.
struct Mounts {
  Json volumes = Json::array(), mounts = Json::array();

  void add(const std::string& name, const std::string& path, Json source,
           bool readOnly) {
    Json volume = {{"name", name}};
    volume.update(source);
    volumes.push_back(std::move(volume));
    Json mount = {{"name", name}, {"mountPath", path}};
    if (readOnly)
      mount["readOnly"] = true;
    mounts.push_back(std::move(mount));
  }
};

Mounts mountsOf(const Job& job, const PodOptions& options) {
  Mounts all;
  all.add("recipe", std::string(recipeMount),
          {{"configMap", {{"name", configMapName(job)}}}}, true);
  if (options.ssh == Ssh::secret)
    all.add("ssh", std::string(keysMount),
            {{"secret",
              {{"secretName", job.settings.sshSecret}, {"defaultMode", 256}}}},
            true);
  all.add("shm", "/dev/shm",
          {{"emptyDir",
            {{"medium", "Memory"},
             {"sizeLimit", quantityOf(job.settings.sharedMemory)}}}},
          false);
  int number = 0;
  for (const Volume& each : job.settings.volumes) {
    Json source = {{"hostPath", {{"path", each.host}}}};
    if (!each.claim.empty())
      source = {{"persistentVolumeClaim", {{"claimName", each.claim}}}};
    all.add("volume-" + std::to_string(number++), each.path, std::move(source),
            each.readOnly);
  }
  return all;
}

Json tolerationsJson(const Settings& settings) {
  Json list = Json::array();
  for (const Toleration& each : settings.tolerations) {
    Json toleration = {{"key", each.key},
                       {"operator", each.value.empty() ? "Exists" : "Equal"}};
    if (!each.value.empty())
      toleration["value"] = each.value;
    if (!each.effect.empty())
      toleration["effect"] = each.effect;
    list.push_back(std::move(toleration));
  }
  return list;
}

Json claimOf(const Job& job, const Volume& volume) {
  Json spec = {
      {"accessModes", {"ReadWriteMany"}},
      {"resources", {{"requests", {{"storage", quantityOf(volume.size)}}}}}};
  if (!volume.storageClass.empty())
    spec["storageClassName"] = volume.storageClass;
  return {{"apiVersion", "v1"},
          {"kind", "PersistentVolumeClaim"},
          {"metadata", metadataOf(job, volume.claim)},
          {"spec", spec}};
}

} // namespace

std::vector<std::string> scriptCommand(const std::string& script) {
  return {"bash", std::string(recipeMount) + "/" + script};
}

Json labelsOf(const Job& job) {
  return {{"app.kubernetes.io/name", job.label},
          {"app.kubernetes.io/managed-by", "recipec"}};
}

Json metadataOf(const Job& job, const std::string& name, bool isQueued) {
  Json metadata = {{"name", name}};
  if (!job.settings.space.empty())
    metadata["namespace"] = job.settings.space;
  metadata["labels"] = labelsOf(job);
  if (isQueued && !job.settings.queue.empty())
    metadata["labels"]["kueue.x-k8s.io/queue-name"] = job.settings.queue;
  return metadata;
}

Json podSpec(const Job& job, const PodOptions& options) {
  const Settings& settings = job.settings;
  const Mounts mounts = mountsOf(job, options);
  Json spec = {{"restartPolicy", options.restartPolicy},
               {"terminationGracePeriodSeconds", settings.grace}};
  if (!settings.serviceAccount.empty())
    spec["serviceAccountName"] = settings.serviceAccount;
  if (!settings.priority.empty())
    spec["priorityClassName"] = settings.priority;
  for (const std::string& each : settings.pullSecrets)
    spec["imagePullSecrets"].push_back({{"name", each}});
  for (const auto& [name, value] : settings.nodeSelector)
    spec["nodeSelector"][name] = value;
  if (!settings.tolerations.empty())
    spec["tolerations"] = tolerationsJson(settings);
  Json container = {{"name", options.container},
                    {"image", settings.image},
                    {"command", options.command},
                    {"env", environmentJson(job)},
                    {"resources", resourcesOf(job, options.hasRanks)},
                    {"volumeMounts", mounts.mounts}};
  if (options.hasRanks && usesRdma(settings))
    container["securityContext"] = {
        {"capabilities", {{"add", Json::array({"IPC_LOCK"})}}}};
  spec["containers"] = Json::array({std::move(container)});
  spec["volumes"] = mounts.volumes;
  return spec;
}

Json podTemplate(const Job& job, const PodOptions& options) {
  return {{"metadata", {{"labels", labelsOf(job)}}},
          {"spec", podSpec(job, options)}};
}

std::vector<Json> filesOf(const Job& job, const Scripts& scripts) {
  Json texts = Json::object();
  for (const auto& [name, text] : scripts)
    texts[name] = text;
  std::vector<Json> objects = {
      {{"apiVersion", "v1"},
       {"kind", "ConfigMap"},
       {"metadata", metadataOf(job, configMapName(job))},
       {"data", texts},
       {"binaryData", {{"plan.json.gz", base64Of(gzipped(job.planText))}}}}};
  for (const Volume& each : job.settings.volumes)
    if (each.size > 0)
      objects.push_back(claimOf(job, each));
  return objects;
}

Json headlessService(const Job& job) {
  return {{"apiVersion", "v1"},
          {"kind", "Service"},
          {"metadata", metadataOf(job, job.label)},
          {"spec",
           {{"clusterIP", "None"},
            {"publishNotReadyAddresses", true},
            {"selector", {{"app.kubernetes.io/name", job.label}}}}}};
}

} // namespace recipec::launch
