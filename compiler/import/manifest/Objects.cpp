// See Objects.h.

#include "compiler/import/manifest/Objects.h"

#include <algorithm>

namespace recipec::importer::manifest {
namespace {

const KnownKind* kindOf(std::string_view version, std::string_view kind) {
  for (const KnownKind& each : knownKinds())
    if (each.version == version && each.kind == kind)
      return &each;
  return nullptr;
}

void addObject(const Node& root, Manifest& manifest, diag::Engine& engine) {
  if (!root)
    return; // an empty document between two lines `---`
  if (!root.isRecord() || !root["apiVersion"].isText() ||
      !root["kind"].isText()) {
    engine
        .report(diag::Kind::ManifestSchema, root.range(),
                "this document is no object of Kubernetes, which has an "
                "`apiVersion` and a `kind`")
        .help("write both, as in `apiVersion: batch/v1` and `kind: Job`");
    return;
  }
  if (root["kind"].text() == "List") {
    for (const Node& each : root["items"].elements())
      addObject(each, manifest, engine);
    return;
  }
  Object object;
  object.root = root;
  object.version = root["apiVersion"].text();
  object.kind = root["kind"].text();
  object.name = root.at("metadata.name").text();
  if (object.name.empty())
    object.name = root.at("metadata.generateName").text();
  object.space = root.at("metadata.namespace").text();
  object.known = kindOf(object.version, object.kind);
  manifest.objects.push_back(std::move(object));
}

/// Adds the pods of a PodTemplateSpec.
void addTemplate(Manifest& manifest, const Object& object, const Node& pattern,
                 std::string role, int64_t count, const Node& restart) {
  const Node spec = pattern["spec"];
  if (!spec.isRecord())
    return;
  manifest.pods.push_back(
      {.owner = &object,
       .role = std::move(role),
       .spec = spec,
       .labels = pattern.at("metadata.labels"),
       .count = count,
       .restart = restart ? restart : spec["restartPolicy"]});
}

int64_t countOf(const Node& node, int64_t usual = 1) {
  return node.count().value_or(usual);
}

/// The pods of a Job.
void addJob(Manifest& manifest, const Object& object, const Node& spec,
            const std::string& role = "", int64_t copies = 1) {
  addTemplate(manifest, object, spec["template"], role,
              copies * countOf(spec["parallelism"]), {});
}

void addReplicas(Manifest& manifest, const Object& object, const Node& specs) {
  for (const Node& replica : specs.fields())
    addTemplate(manifest, object, replica["template"], replica.name(),
                countOf(replica["replicas"]), replica["restartPolicy"]);
}

void addJobSet(Manifest& manifest, const Object& object, const Node& spec) {
  for (const Node& each : spec["replicatedJobs"].elements())
    addJob(manifest, object, each.at("template.spec"), each["name"].text(),
           countOf(each["replicas"]));
}

} // namespace

bool isGpu(std::string_view resource) {
  return resource.ends_with("/gpu") || resource.ends_with("/gpu.shared") ||
         resource.find("/mig-") != resource.npos;
}

Node resourceOf(const Node& container, std::string_view resource) {
  const Node limit = container.at("resources.limits")[resource];
  return limit ? limit : container.at("resources.requests")[resource];
}

int64_t Pod::gpus() const {
  int64_t sum = 0;
  for (const Node& container : containers())
    for (const char* amounts : {"limits", "requests"}) {
      bool isThere = false;
      for (const Node& each : container["resources"][amounts].fields())
        if (isGpu(each.name())) {
          sum += countOf(each, 0);
          isThere = true;
        }
      if (isThere)
        break;
    }
  return sum;
}

bool Pod::asksFor(std::string_view resource) const {
  for (const Node& container : containers())
    for (const char* amounts : {"limits", "requests"})
      for (const Node& each : container["resources"][amounts].fields())
        if (each.name().starts_with(resource))
          return true;
  return false;
}

const Object* Manifest::find(std::string_view kind,
                             std::string_view name) const {
  for (const Object& each : objects)
    if (each.kind == kind && each.name == name)
      return &each;
  return nullptr;
}

void addObjects(const ast::File& file, const SourceMap& sources,
                Manifest& manifest, diag::Engine& engine) {
  for (const ast::Declaration& declaration : file.declarations)
    if (const auto* let = std::get_if<ast::Let>(&declaration.node))
      addObject(Node(file, sources, let->value), manifest, engine);
}

void addPods(Manifest& manifest) {
  for (const Object& each : manifest.objects) {
    const Node spec = each.spec();
    if (each.kind == "Pod")
      addTemplate(manifest, each, each.root, "", 1, {});
    else if (each.kind == "Job")
      addJob(manifest, each, spec);
    else if (each.kind == "CronJob")
      addJob(manifest, each, spec.at("jobTemplate.spec"));
    else if (each.kind == "JobSet")
      addJobSet(manifest, each, spec);
    else if (each.kind == "PyTorchJob")
      addReplicas(manifest, each, spec["pytorchReplicaSpecs"]);
    else if (each.kind == "MPIJob")
      addReplicas(manifest, each, spec["mpiReplicaSpecs"]);
    else if (each.kind.ends_with("TrainingRuntime"))
      addJobSet(manifest, each, spec.at("template.spec"));
    else if (spec["template"].isRecord())
      addTemplate(manifest, each, spec["template"], "",
                  countOf(spec["replicas"]), {});
  }
}

} // namespace recipec::importer::manifest
