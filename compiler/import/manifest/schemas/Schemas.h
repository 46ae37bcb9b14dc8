// The shapes of the objects that are checked.

#ifndef RECIPEC_IMPORT_MANIFEST_SCHEMAS_SCHEMAS_H
#define RECIPEC_IMPORT_MANIFEST_SCHEMAS_SCHEMAS_H

#include "compiler/import/manifest/schemas/Shape.h"

#include <span>
#include <string_view>

namespace recipec::importer::manifest {

/// The types of Kubernetes 1.34 that pods are made of.
extern const std::string_view podTypes;
/// Volumes of pods, and claims.
extern const std::string_view volumeTypes;
/// Jobs, Deployments, Services and other objects of Kubernetes 1.34.
extern const std::string_view workloadTypes;
/// JobSet 0.12, Kubeflow's training operator 1.9, MPI operator 0.8, Kubeflow
/// Trainer 2.1 to 2.3, and the NeMoTraining of a documentation.
extern const std::string_view trainingTypes;
/// The objects of the Prometheus operator 0.93.
extern const std::string_view monitoringTypes;

/// A kind of object that is checked.
struct KnownKind {
  std::string_view version; // `apps/v1`
  std::string_view kind;    // `Deployment`
  std::string_view type;    // its shape
};
std::span<const KnownKind> knownKinds();

/// All types.
const Shapes& allShapes();

} // namespace recipec::importer::manifest

#endif // RECIPEC_IMPORT_MANIFEST_SCHEMAS_SCHEMAS_H
