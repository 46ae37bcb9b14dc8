// Names, labels and ports by which objects refer to each other; see Findings.h.

#include "compiler/import/manifest/Findings.h"

#include "compiler/import/manifest/Commands.h"

#include <algorithm>

namespace recipec::importer::manifest {
namespace {

using diag::Kind;

/// `app: triton, tier: web`
std::string labelText(const Node& labels) {
  std::string text;
  for (const Node& each : labels.fields())
    text += (text.empty() ? "" : ", ") + each.name() + ": " + each.text();
  return text;
}

/// Whether a controller adds the label to pods by itself.
bool isGenerated(std::string_view label) {
  constexpr std::string_view prefixes[] = {
      "batch.kubernetes.io/",  "training.kubeflow.org/",
      "trainer.kubeflow.org/", "jobset.sigs.k8s.io/",
      "apps.kubernetes.io/",   "statefulset.kubernetes.io/"};
  return label == "job-name" || label == "controller-uid" ||
         std::ranges::any_of(prefixes, [&](std::string_view prefix) {
           return label.starts_with(prefix);
         });
}

/// Whether labels have all of the others.
bool hasLabels(const Node& labels, const Node& wanted) {
  return std::ranges::all_of(wanted.fields(), [&](const Node& each) {
    if (isGenerated(each.name()))
      return true;
    return labels[each.name()] && labels[each.name()].text() == each.text();
  });
}

bool isInSpace(const Object& object, const Object& other) {
  return object.space == other.space;
}

class ReferenceInspector {
public:
  ReferenceInspector(const Manifest& manifest, diag::Engine& engine)
      : manifest(manifest), engine(engine) {}

  void inspect() {
    for (const Object& each : manifest.objects) {
      if (each.is("Service"))
        checkService(each);
      if (each.kind == "Deployment" || each.kind == "StatefulSet" ||
          each.kind == "DaemonSet" || each.kind == "ReplicaSet")
        checkSelector(each);
      if (each.is("HorizontalPodAutoscaler"))
        checkTarget(each);
      if (each.is("ServiceMonitor"))
        checkServiceMonitor(each);
      if (each.is("PodMonitor"))
        checkPodMonitor(each);
      if (each.is("TrainJob"))
        checkRuntime(each);
    }
    for (const Pod& pod : manifest.pods)
      checkPod(pod);
  }

private:
  diag::Builder report(SourceRange range, std::string message) {
    return engine.report(Kind::ManifestReference, range, std::move(message));
  }
  /// The pods that a Service selects.
  std::vector<const Pod*> selectedBy(const Object& service) const {
    std::vector<const Pod*> pods;
    for (const Pod& pod : manifest.pods)
      if (isInSpace(*pod.owner, service) &&
          hasLabels(pod.labels, service.spec()["selector"]))
        pods.push_back(&pod);
    return pods;
  }

  void checkService(const Object& service);
  void checkServicePorts(const Object& service,
                         const std::vector<const Pod*>& pods);
  void checkSelector(const Object& object);
  void checkTarget(const Object& autoscaler);
  void checkMetrics(const Object& autoscaler, const Object& target);
  void checkServiceMonitor(const Object& monitor);
  void checkPodMonitor(const Object& monitor);
  void checkRuntime(const Object& job);
  void checkPod(const Pod& pod);
  void checkKey(const Node& reference, const char* kind);
  void checkClaim(const Pod& pod, const Node& volume);
  void checkSubdomain(const Pod& pod);
  void checkHostfile(const Pod& pod);

  const Manifest& manifest;
  diag::Engine& engine;
};

void ReferenceInspector::checkService(const Object& service) {
  const Node selector = service.spec()["selector"];
  if (selector.fields().empty() || manifest.pods.empty())
    return;
  const std::vector<const Pod*> pods = selectedBy(service);
  if (!pods.empty())
    return checkServicePorts(service, pods);
  auto builder = report(selector.range(), "the Service `" + service.name +
                                              "` selects no pod: none has `" +
                                              labelText(selector) + "`");
  for (const Pod& pod : manifest.pods)
    builder.note(pod.owner->title() +
                     (isInSpace(*pod.owner, service)
                          ? ""
                          : " in namespace `" + pod.owner->space + "`") +
                     " has the labels `" + labelText(pod.labels) + "`",
                 pod.labels.range());
  builder.help("write the labels of the pods' template in `selector`");
}

/// Names of ports of containers.
std::vector<std::string> portsOf(const Pod& pod) {
  std::vector<std::string> names;
  for (const Node& container : pod.containers())
    for (const Node& port : container["ports"].elements())
      if (port["name"])
        names.push_back(port["name"].text());
  return names;
}

void ReferenceInspector::checkServicePorts(
    const Object& service, const std::vector<const Pod*>& pods) {
  for (const Node& port : service.spec()["ports"].elements()) {
    const Node target = port["targetPort"];
    if (!target.isText() || target.count())
      continue;
    std::vector<std::string> names;
    for (const Pod* pod : pods)
      for (std::string& name : portsOf(*pod))
        names.push_back(std::move(name));
    if (std::ranges::find(names, target.text()) != names.end())
      continue;
    report(target.range(), "the pods of the Service `" + service.name +
                               "` have no port `" + target.text() + "`")
        .suggestOrList(target.valueRange(), target.text(), names,
                       "their ports are ");
  }
}

/// A server's own pods must be selected.
void ReferenceInspector::checkSelector(const Object& object) {
  const Node selector = object.spec().at("selector.matchLabels");
  const Node labels = object.spec().at("template.metadata.labels");
  if (selector.fields().empty() || hasLabels(labels, selector))
    return;
  engine
      .report(Kind::ManifestSchema, selector.range(),
              "the selector `" + labelText(selector) + "` of " +
                  object.title() +
                  " does not select its own pods, which have `" +
                  labelText(labels) + "`")
      .help("write the same labels in `template.metadata.labels`");
}

void ReferenceInspector::checkTarget(const Object& autoscaler) {
  const Node reference = autoscaler.spec()["scaleTargetRef"];
  const std::string kind = reference["kind"].text(),
                    name = reference["name"].text();
  if (name.empty())
    return;
  const Object* target = manifest.find(kind, name);
  if (target)
    return checkMetrics(autoscaler, *target);
  std::vector<std::string> names;
  for (const Object& each : manifest.objects)
    if (each.kind == kind)
      names.push_back(each.name);
  auto builder = report(reference["name"].range(),
                        "the HorizontalPodAutoscaler `" + autoscaler.name +
                            "` scales the " + kind + " `" + name +
                            "`, which the files do not have");
  if (!names.empty())
    builder.suggestOrList(reference["name"].valueRange(), name, names,
                          "the files have ");
  else
    builder.help("name the object to scale, or also check the file that has "
                 "it");
}

/// A utilization is a part of what the pods request.
void ReferenceInspector::checkMetrics(const Object& autoscaler,
                                      const Object& target) {
  for (const Node& metric : autoscaler.spec()["metrics"].elements()) {
    const Node resource = metric["resource"];
    const std::string name = resource["name"].text();
    if (resource.at("target.type").text() != "Utilization")
      continue;
    for (const Pod& pod : manifest.pods)
      for (const Node& container : pod.containers())
        if (pod.owner == &target && !resourceOf(container, name))
          report(resource["name"].range(),
                 "the utilization of `" + name +
                     "` has no base: the container `" +
                     container["name"].text() + "` requests none")
              .help("write `resources: { requests: { " + name + ": ... } }`");
  }
}

void ReferenceInspector::checkServiceMonitor(const Object& monitor) {
  const Node wanted = monitor.spec().at("selector.matchLabels");
  std::vector<const Object*> services;
  for (const Object& each : manifest.objects)
    if (each.is("Service") &&
        hasLabels(each.root.at("metadata.labels"), wanted))
      services.push_back(&each);
  if (services.empty()) {
    const bool hasService =
        std::ranges::any_of(manifest.objects, [](const Object& each) {
          return each.is("Service");
        });
    report(monitor.spec()["selector"].range(),
           "the ServiceMonitor `" + monitor.name + "` selects no Service" +
               (hasService ? ": none has the labels `" + labelText(wanted) + "`"
                           : ", and the files have none: nothing is scraped"))
        .help(hasService
                  ? "write the labels of the Service's own `metadata`"
                  : "add a Service with these labels, or use a PodMonitor, "
                    "which selects pods");
    return;
  }
  std::vector<std::string> names;
  for (const Object* service : services)
    for (const Node& port : service->spec()["ports"].elements())
      if (port["name"])
        names.push_back(port["name"].text());
  for (const Node& endpoint : monitor.spec()["endpoints"].elements()) {
    const Node port = endpoint["port"];
    if (!port || std::ranges::find(names, port.text()) != names.end())
      continue;
    auto builder =
        report(port.range(),
               "no selected Service has a port named `" + port.text() + "`");
    if (names.empty())
      builder.help("give the Service's port a `name`, by which a monitor "
                   "finds it");
    else
      builder.suggestOrList(port.valueRange(), port.text(), names,
                            "their ports are ");
  }
}

void ReferenceInspector::checkPodMonitor(const Object& monitor) {
  const Node wanted = monitor.spec().at("selector.matchLabels");
  if (manifest.pods.empty())
    return;
  std::vector<std::string> names;
  bool isFound = false;
  for (const Pod& pod : manifest.pods)
    if (hasLabels(pod.labels, wanted)) {
      isFound = true;
      for (std::string& name : portsOf(pod))
        names.push_back(std::move(name));
    }
  if (!isFound) {
    report(monitor.spec()["selector"].range(),
           "the PodMonitor `" + monitor.name +
               "` selects no pod: none has the labels `" + labelText(wanted) +
               "`")
        .help("write the labels of the pods' template");
    return;
  }
  for (const Node& endpoint :
       monitor.spec()["podMetricsEndpoints"].elements()) {
    const Node port = endpoint["port"];
    if (!port || std::ranges::find(names, port.text()) != names.end())
      continue;
    report(port.range(),
           "no selected pod has a port named `" + port.text() + "`")
        .help("add it to the container: `ports: [{ name: " + port.text() +
              ", containerPort: ... }]`");
  }
}

void ReferenceInspector::checkRuntime(const Object& job) {
  const Node name = job.spec().at("runtimeRef.name");
  std::vector<std::string> names;
  for (const Object& each : manifest.objects)
    if (each.kind.ends_with("TrainingRuntime"))
      names.push_back(each.name);
  if (!name || names.empty() ||
      std::ranges::find(names, name.text()) != names.end())
    return;
  report(name.range(),
         "the files have no TrainingRuntime `" + name.text() + "`")
      .suggestOrList(name.valueRange(), name.text(), names, "they have ");
}

/// A key of a ConfigMap or Secret of the files.
void ReferenceInspector::checkKey(const Node& reference, const char* kind) {
  const Object* object = manifest.find(kind, reference["name"].text());
  const Node key = reference["key"];
  if (!object || !key || reference["optional"].isTrue())
    return;
  std::vector<std::string> keys;
  for (const char* field : {"data", "stringData", "binaryData"})
    for (const Node& each : object->root[field].fields())
      keys.push_back(each.name());
  if (std::ranges::find(keys, key.text()) != keys.end())
    return;
  report(key.range(), "the " + std::string(kind) + " `" + object->name +
                          "` has no key `" + key.text() + "`")
      .suggestOrList(key.valueRange(), key.text(), keys, "its keys are ");
}

/// Pods on several nodes share a claim only with ReadWriteMany.
void ReferenceInspector::checkClaim(const Pod& pod, const Node& volume) {
  const Node name = volume.at("persistentVolumeClaim.claimName");
  const Object* claim = manifest.find("PersistentVolumeClaim", name.text());
  int64_t pods = 0;
  for (const Pod& each : manifest.pods)
    if (each.owner == pod.owner)
      pods += each.count;
  if (!claim || pods < 2)
    return;
  for (const Node& mode : claim->spec()["accessModes"].elements())
    if (mode.text() == "ReadWriteMany" || mode.text() == "ReadOnlyMany")
      return;
  report(name.range(), std::to_string(pods) + " pods of " + pod.owner->title() +
                           " mount the claim `" + claim->name +
                           "`, which one node at a time can")
      .label(claim->spec()["accessModes"].range(), "its access modes")
      .help("write `accessModes: [ReadWriteMany]`, with a class of storage "
            "that has it");
}

void ReferenceInspector::checkSubdomain(const Pod& pod) {
  const Node name = pod.spec["subdomain"];
  if (!name || manifest.find("Service", name.text()))
    return;
  report(name.range(), "the files have no Service `" + name.text() +
                           "`, by which the pods have names")
      .help("add a Service of this name with `clusterIP: None`");
}

/// The host file of the MPI operator.
void ReferenceInspector::checkHostfile(const Pod& pod) {
  if (pod.owner->kind == "MPIJob" ||
      pod.owner->kind.ends_with("TrainingRuntime"))
    return;
  for (const Node& container : pod.containers())
    for (const Command& command : commandsOf(pod, container, manifest))
      for (const Word& word : command)
        if (word.text.find("/etc/mpi/hostfile") != word.text.npos) {
          report(word.range, "pods of " + pod.owner->title() +
                                 " have no `/etc/mpi/hostfile`, which the MPI "
                                 "operator writes for an MPIJob")
              .help("run mpirun in the `Launcher` of an MPIJob");
          return;
        }
}

void ReferenceInspector::checkPod(const Pod& pod) {
  for (const Node& container : pod.containers())
    for (const Node& each : container["env"].elements()) {
      checkKey(each.at("valueFrom.configMapKeyRef"), "ConfigMap");
      checkKey(each.at("valueFrom.secretKeyRef"), "Secret");
    }
  for (const Node& volume : pod.spec["volumes"].elements())
    if (pod.role != "Launcher")
      checkClaim(pod, volume);
  checkSubdomain(pod);
  checkHostfile(pod);
}

} // namespace

void checkReferences(const Manifest& manifest, diag::Engine& engine) {
  ReferenceInspector(manifest, engine).inspect();
}

} // namespace recipec::importer::manifest
