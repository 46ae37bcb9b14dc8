// Versions and kinds; see Findings.h.

#include "compiler/import/manifest/Findings.h"

#include <algorithm>

namespace recipec::importer::manifest {
namespace {

using diag::Kind;

/// A version that was removed. `kind` is empty for all kinds of the group.
struct Removed {
  std::string_view version, kind, by, instead;
};
constexpr Removed removed[] = {
    {"extensions/v1beta1", "Deployment", "Kubernetes 1.16", "apps/v1"},
    {"extensions/v1beta1", "DaemonSet", "Kubernetes 1.16", "apps/v1"},
    {"extensions/v1beta1", "ReplicaSet", "Kubernetes 1.16", "apps/v1"},
    {"extensions/v1beta1", "Ingress", "Kubernetes 1.22",
     "networking.k8s.io/v1"},
    {"networking.k8s.io/v1beta1", "", "Kubernetes 1.22",
     "networking.k8s.io/v1"},
    {"apps/v1beta1", "", "Kubernetes 1.16", "apps/v1"},
    {"apps/v1beta2", "", "Kubernetes 1.16", "apps/v1"},
    {"batch/v1beta1", "", "Kubernetes 1.25", "batch/v1"},
    {"batch/v2alpha1", "", "Kubernetes 1.21", "batch/v1"},
    {"autoscaling/v2beta1", "", "Kubernetes 1.25", "autoscaling/v2"},
    {"autoscaling/v2beta2", "", "Kubernetes 1.26", "autoscaling/v2"},
    {"policy/v1beta1", "", "Kubernetes 1.25", "policy/v1"},
    {"rbac.authorization.k8s.io/v1beta1", "", "Kubernetes 1.22",
     "rbac.authorization.k8s.io/v1"},
    {"scheduling.k8s.io/v1beta1", "", "Kubernetes 1.22",
     "scheduling.k8s.io/v1"},
    {"kubeflow.org/v1alpha1", "", "Kubeflow's operators",
     "kubeflow.org/v2beta1 of the MPI operator"},
    {"kubeflow.org/v1alpha2", "", "Kubeflow's operators",
     "kubeflow.org/v2beta1 of the MPI operator"},
    {"kubeflow.org/v1beta1", "", "Kubeflow's training operator",
     "kubeflow.org/v1"},
    {"kubeflow.org/v1beta2", "", "Kubeflow's training operator",
     "kubeflow.org/v1"},
    {"kubeflow.org/v2alpha1", "", "Kubeflow Trainer 2.0",
     "trainer.kubeflow.org/v1alpha1"},
    {"jobset.x-k8s.io/v1alpha1", "", "JobSet", "jobset.x-k8s.io/v1alpha2"},
};

const Removed* findRemoved(const Object& object) {
  for (const Removed& each : removed)
    if (each.version == object.version &&
        (each.kind.empty() || each.kind == object.kind))
      return &each;
  return nullptr;
}

std::string_view groupOf(std::string_view version) {
  const size_t slash = version.rfind('/');
  return slash == version.npos ? "" : version.substr(0, slash);
}

/// Kinds of groups of which all are known, and others of any version.
void checkUnknown(const Object& object, diag::Engine& engine) {
  std::vector<std::string> kinds;
  for (const KnownKind& each : knownKinds()) {
    if (each.kind == object.kind && object.version != each.version &&
        object.kind != "MPIJob") {
      engine
          .report(Kind::ManifestVersion, object.root["apiVersion"].range(),
                  "`" + object.version + "` has no kind `" + object.kind + "`")
          .help("write `apiVersion: " + std::string(each.version) + "`")
          .fixIt(object.root["apiVersion"].valueRange(),
                 std::string(each.version), diag::Applicability::safe);
      return;
    }
    if (groupOf(each.version) == groupOf(object.version))
      kinds.emplace_back(each.kind);
  }
  const bool isOfTraining = object.version.starts_with("kubeflow.org/") ||
                            object.version.starts_with("trainer.") ||
                            object.version.starts_with("jobset.");
  const auto near = diag::didYouMean(object.kind, kinds);
  if (!near && !isOfTraining)
    return;
  // Kubeflow's operators have more kinds than the ones that are checked.
  constexpr std::string_view others[] = {
      "TFJob", "XGBoostJob", "PaddleJob", "MXJob", "JAXJob", "OptimizationJob"};
  if (std::ranges::find(others, object.kind) != std::end(others))
    return;
  engine
      .report(Kind::ManifestVersion, object.root["kind"].range(),
              "`" + object.version + "` has no kind `" + object.kind + "`")
      .suggestOrList(object.root["kind"].valueRange(), object.kind, kinds,
                     "its kinds are ");
}

} // namespace

void checkFields(const Object& object, diag::Engine& engine) {
  if (const Removed* old = findRemoved(object)) {
    engine
        .report(Kind::ManifestVersion, object.root["apiVersion"].range(),
                "`" + object.version + "` is no longer served: " +
                    std::string(old->by) + " has removed it")
        .help("write `apiVersion: " + std::string(old->instead) +
              "`, and look whether its fields are the same");
    return;
  }
  if (!object.known) {
    checkUnknown(object, engine);
    return;
  }
  if (object.kind == "NeMoTraining")
    engine
        .report(Kind::ManifestVersion, object.root["kind"].range(),
                "no released controller reads a `NeMoTraining`: a cluster "
                "refuses it, or stores it and runs nothing")
        .help("`recipec launch --target=pytorchjob` or `--target=trainjob` "
              "writes a job from the recipe that this command prints");
  if (object.name.empty())
    engine
        .report(Kind::ManifestSchema, object.root["kind"].range(),
                "this " + object.kind + " has no `metadata.name`")
        .help("name it: `metadata: { name: ... }`");
  checkShape(object.root, *allShapes().find(object.known->type), object.kind,
             engine);
}

void checkManifest(const Manifest& manifest, diag::Engine& engine) {
  for (const Object& each : manifest.objects)
    checkFields(each, engine);
  checkPolicies(manifest, engine);
  checkPods(manifest, engine);
  checkRanks(manifest, engine);
  checkReferences(manifest, engine);
  checkSecrets(manifest, engine);
  checkEnvironment(manifest, engine);
}

} // namespace recipec::importer::manifest
