// The objects of each target of Kubernetes.

#ifndef RECIPEC_LAUNCH_KUBERNETES_MANIFESTS_H
#define RECIPEC_LAUNCH_KUBERNETES_MANIFESTS_H

#include "compiler/launch/Job.h"
#include "compiler/launch/kubernetes/Yaml.h"

#include <vector>

namespace recipec::launch {

/// The objects that run a job, in the order in which they are created.
std::vector<Json> indexedJob(const Job& job); // batch/v1 Job
std::vector<Json> jobSet(const Job& job);     // jobset.x-k8s.io/v1alpha2
std::vector<Json> mpiJob(const Job& job);     // kubeflow.org/v2beta1 MPIJob
std::vector<Json> pyTorchJob(const Job& job); // kubeflow.org/v1 PyTorchJob
std::vector<Json> trainJob(const Job& job);   // trainer.kubeflow.org/v1alpha1
std::vector<Json> deployment(const Job& job); // apps/v1 Deployment

/// A file for each job.
Files manifestFiles(const std::vector<Job>& jobs,
                    std::vector<Json> (*objects)(const Job&));

} // namespace recipec::launch

#endif // RECIPEC_LAUNCH_KUBERNETES_MANIFESTS_H
