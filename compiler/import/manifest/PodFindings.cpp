// Pods and containers; see Findings.h.

#include "compiler/import/manifest/Findings.h"

#include <algorithm>

namespace recipec::importer::manifest {
namespace {

using diag::Kind;

class PodInspector {
public:
  PodInspector(const Pod& pod, diag::Engine& engine)
      : pod(pod), engine(engine) {}

  void inspect() {
    checkNetwork();
    for (const Node& each : pod.containers()) {
      checkMounts(each);
      checkAmounts(each);
      checkImage(each);
      checkSharedMemory(each);
      checkRdma(each);
      checkProbes(each);
      checkDevices(each);
    }
    checkUnmounted();
  }

private:
  static bool hasMount(const Node& container, const std::string& path) {
    for (const Node& mount : container["volumeMounts"].elements())
      if (mount["mountPath"].text() == path)
        return true;
    return false;
  }
  Node volumeOf(const std::string& name) const {
    for (const Node& each : pod.spec["volumes"].elements())
      if (each["name"].text() == name)
        return each;
    return {};
  }
  static int64_t gpusOf(const Node& container) {
    int64_t sum = 0;
    for (const Node& each : container.at("resources.limits").fields())
      if (isGpu(each.name()))
        sum += each.count().value_or(0);
    return sum;
  }
  static bool isPrivileged(const Node& container) {
    return container.at("securityContext.privileged").isTrue();
  }

  void checkNetwork();
  void checkMounts(const Node& container);
  void checkUnmounted();
  void checkAmounts(const Node& container);
  void checkExtended(const Node& container, const Node& request);
  void checkImage(const Node& container);
  void checkSharedMemory(const Node& container);
  void checkRdma(const Node& container);
  void checkProbes(const Node& container);
  void checkDevices(const Node& container);

  const Pod& pod;
  diag::Engine& engine;
};

void PodInspector::checkNetwork() {
  const Node network = pod.spec["hostNetwork"], policy = pod.spec["dnsPolicy"];
  if (!network.isTrue() || policy.text() == "ClusterFirstWithHostNet" ||
      policy.text() == "None")
    return;
  engine
      .report(Kind::ManifestPod, network.range(),
              "with `hostNetwork`, pods look names up as their node does, and "
              "find no Service or pod by name")
      .help("write `dnsPolicy: ClusterFirstWithHostNet` beside it");
}

void PodInspector::checkMounts(const Node& container) {
  std::vector<std::string> names;
  for (const Node& each : pod.spec["volumes"].elements())
    names.push_back(each["name"].text());
  for (const Node& claim : pod.owner->spec()["volumeClaimTemplates"].elements())
    names.push_back(claim.at("metadata.name").text());
  for (const Node& mount : container["volumeMounts"].elements()) {
    const Node name = mount["name"];
    if (!name || std::ranges::find(names, name.text()) != names.end())
      continue;
    engine
        .report(Kind::ManifestSchema, name.range(),
                "the pod has no volume `" + name.text() + "` to mount at `" +
                    mount["mountPath"].text() + "`")
        .suggestOrList(name.valueRange(), name.text(), names,
                       "its volumes are ");
  }
}

void PodInspector::checkUnmounted() {
  std::vector<std::string> mounted;
  for (const char* list : {"containers", "initContainers"})
    for (const Node& container : pod.spec[list].elements())
      for (const Node& mount : container["volumeMounts"].elements())
        mounted.push_back(mount["name"].text());
  for (const Node& volume : pod.spec["volumes"].elements()) {
    const Node name = volume["name"];
    if (name && std::ranges::find(mounted, name.text()) == mounted.end())
      engine
          .report(Kind::ManifestReference, name.range(),
                  "no container mounts the volume `" + name.text() + "`")
          .help("add it to the `volumeMounts` of one, or leave it out");
  }
}

/// Extended resources cannot be overcommitted: the request is the limit.
void PodInspector::checkExtended(const Node& container, const Node& request) {
  const Node limit = container.at("resources.limits")[request.name()];
  if (limit && limit.count() == request.count())
    return;
  auto builder = engine.report(
      Kind::ManifestSchema, request.range(),
      "the container requests `" + request.name() + "` = " + request.text() +
          (limit ? " and its limit is " + limit.text()
                 : " and has no limit of it") +
          ": such a resource needs a limit that equals the request");
  if (limit)
    builder.label(limit.range(), "the limit");
  builder.help("write the limit alone: the request follows it");
}

void PodInspector::checkAmounts(const Node& container) {
  const Node limits = container.at("resources.limits");
  for (const Node& request : container.at("resources.requests").fields()) {
    if (request.name().find('/') != std::string::npos) {
      checkExtended(container, request);
      continue;
    }
    const Node limit = limits[request.name()];
    const auto most = limit ? quantityOf(limit.text()) : std::nullopt;
    const auto wanted = quantityOf(request.text());
    if (most && wanted && *wanted > *most)
      engine
          .report(Kind::ManifestSchema, request.range(),
                  "the container requests `" + request.name() + "` = " +
                      request.text() + ", above its limit of " + limit.text())
          .label(limit.range(), "the limit")
          .help("raise the limit, or lower the request");
  }
}

void PodInspector::checkImage(const Node& container) {
  const Node image = container["image"];
  const bool isOfRuntime = pod.owner->kind.ends_with("TrainingRuntime");
  if (!image) {
    if (container.isRecord() && !isOfRuntime)
      engine
          .report(Kind::ManifestSchema, container.range(),
                  "the container `" + container["name"].text() +
                      "` has no `image`")
          .help("name one with its tag");
    return;
  }
  const std::string text = image.text();
  const size_t slash = text.rfind('/');
  const std::string last = slash == text.npos ? text : text.substr(slash + 1);
  const size_t colon = last.find(':');
  if (text.find('@') != text.npos || text.find('$') != text.npos ||
      (colon != last.npos && last.substr(colon) != ":latest"))
    return;
  engine
      .report(Kind::ManifestPod, image.range(),
              "the image `" + text + "` has no version: " +
                  (colon == last.npos ? "no tag means `latest`, which"
                                      : "`latest`") +
                  " is another image after the next push, also between the "
                  "pods of a job")
      .help("name a tag or a digest");
}

/// NCCL and data loaders share memory between the processes of a pod.
void PodInspector::checkSharedMemory(const Node& container) {
  const int64_t gpus = gpusOf(container);
  if (gpus < 2 || pod.spec["hostIPC"].isTrue())
    return;
  for (const Node& mount : container["volumeMounts"].elements()) {
    if (mount["mountPath"].text() != "/dev/shm")
      continue;
    const Node directory = volumeOf(mount["name"].text())["emptyDir"];
    if (directory.isRecord() && directory["medium"].text() != "Memory")
      engine
          .report(
              Kind::ManifestPod, mount["mountPath"].range(),
              "`/dev/shm` is a folder on the node's disk: the `emptyDir` `" +
                  mount["name"].text() + "` has no `medium: Memory`")
          .help("write `emptyDir: { medium: Memory }`");
    return;
  }
  engine
      .report(Kind::ManifestPod, container["name"].range(),
              "the container has " + std::to_string(gpus) +
                  " GPUs and 64 MiB of `/dev/shm`, through which their "
                  "processes exchange data")
      .help("mount a volume `emptyDir: { medium: Memory }` at `/dev/shm`");
}

void PodInspector::checkRdma(const Node& container) {
  for (const Node& each : container.at("resources.limits").fields()) {
    const bool isRdma = each.name().starts_with("rdma/") ||
                        each.name().find("hostdev") != std::string::npos ||
                        each.name().find("sriov") != std::string::npos;
    if (!isRdma || isPrivileged(container))
      continue;
    for (const Node& added :
         container.at("securityContext.capabilities.add").elements())
      if (added.text() == "IPC_LOCK" || added.text() == "ALL")
        return;
    engine
        .report(Kind::ManifestPod, each.nameRange(),
                "the container uses `" + each.name() +
                    "` and may not lock memory, which RDMA registers")
        .help("write `securityContext: { capabilities: { add: [IPC_LOCK] } }`");
    return;
  }
}

/// Servers get requests as soon as they are ready, by default at once.
void PodInspector::checkProbes(const Node& container) {
  if (pod.owner->kind != "Deployment" && pod.owner->kind != "StatefulSet")
    return;
  if (gpusOf(container) == 0)
    return;
  if (!container["readinessProbe"]) {
    engine
        .report(Kind::ManifestPod, container["name"].range(),
                "the server has no `readinessProbe`: it gets requests while "
                "its model is being loaded")
        .help("probe its address for health, as in `readinessProbe: { httpGet: "
              "{ path: /v2/health/ready, port: 8000 } }` for Triton");
    return;
  }
  if (container["livenessProbe"] && !container["startupProbe"] &&
      container.at("livenessProbe.initialDelaySeconds").count().value_or(0) <
          60)
    engine
        .report(Kind::ManifestPod, container["livenessProbe"].range(),
                "the `livenessProbe` ends a server that takes longer to load "
                "its model")
        .help("add a `startupProbe` with as many failures as loading takes "
              "time: `periodSeconds: 10`, `failureThreshold: 30` are 5 "
              "minutes");
}

void PodInspector::checkDevices(const Node& container) {
  if (gpusOf(container) == 0)
    return;
  for (const Node& each : container["env"].elements())
    if (each["name"].text() == "NVIDIA_VISIBLE_DEVICES" && each["value"])
      engine
          .report(Kind::ManifestPod, each["name"].range(),
                  "`NVIDIA_VISIBLE_DEVICES` replaces the GPUs that the node "
                  "has given to the container")
          .help("leave it out: the device plugin sets it");
}

} // namespace

void checkPods(const Manifest& manifest, diag::Engine& engine) {
  for (const Pod& pod : manifest.pods)
    PodInspector(pod, engine).inspect();
}

} // namespace recipec::importer::manifest
