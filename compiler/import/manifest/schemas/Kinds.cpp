// The kinds of objects, and the shape of each.

#include "compiler/import/manifest/schemas/Schemas.h"

namespace recipec::importer::manifest {
namespace {

constexpr KnownKind kinds[] = {
    {"v1", "Pod", "Pod"},
    {"v1", "Service", "Service"},
    {"v1", "ConfigMap", "ConfigMap"},
    {"v1", "Secret", "Secret"},
    {"v1", "PersistentVolumeClaim", "Claim"},
    {"v1", "PersistentVolume", "Named"},
    {"v1", "ServiceAccount", "ServiceAccount"},
    {"v1", "Namespace", "Named"},
    {"v1", "ResourceQuota", "Named"},
    {"v1", "LimitRange", "Named"},
    {"apps/v1", "Deployment", "Deployment"},
    {"apps/v1", "ReplicaSet", "ReplicaSet"},
    {"apps/v1", "DaemonSet", "DaemonSet"},
    {"apps/v1", "StatefulSet", "StatefulSet"},
    {"batch/v1", "Job", "Job"},
    {"batch/v1", "CronJob", "CronJob"},
    {"autoscaling/v2", "HorizontalPodAutoscaler", "Autoscaler"},
    {"scheduling.k8s.io/v1", "PriorityClass", "PriorityClass"},
    {"jobset.x-k8s.io/v1alpha2", "JobSet", "JobSet"},
    {"kubeflow.org/v1", "PyTorchJob", "PyTorchJob"},
    {"kubeflow.org/v1", "MPIJob", "OldMpiJob"},
    {"kubeflow.org/v2beta1", "MPIJob", "MpiJob"},
    {"trainer.kubeflow.org/v1alpha1", "TrainJob", "TrainJob"},
    {"trainer.kubeflow.org/v1alpha1", "TrainingRuntime", "TrainingRuntime"},
    {"trainer.kubeflow.org/v1alpha1", "ClusterTrainingRuntime",
     "TrainingRuntime"},
    {"nemo.nvidia.com/v1alpha1", "NeMoTraining", "NemoTraining"},
    {"monitoring.coreos.com/v1", "ServiceMonitor", "ServiceMonitor"},
    {"monitoring.coreos.com/v1", "PodMonitor", "PodMonitor"},
    {"monitoring.coreos.com/v1", "PrometheusRule", "PrometheusRule"},
};

} // namespace

std::span<const KnownKind> knownKinds() {
  return kinds;
}

const Shapes& allShapes() {
  static const Shapes shapes = [] {
    Shapes all;
    for (const std::string_view types :
         {podTypes, volumeTypes, workloadTypes, trainingTypes, monitoringTypes})
      all.add(types);
    all.finish();
    return all;
  }();
  return shapes;
}

} // namespace recipec::importer::manifest
