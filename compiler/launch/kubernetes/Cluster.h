// The Kubernetes cluster that kubectl knows.

#ifndef RECIPEC_LAUNCH_KUBERNETES_CLUSTER_H
#define RECIPEC_LAUNCH_KUBERNETES_CLUSTER_H

#include "compiler/launch/Check.h"

#include <string>

namespace recipec::launch {

/// Asks the cluster whether it takes the objects of a file, and then creates
/// them. Returns what kubectl prints; empty, with a diagnostic, if the cluster
/// refuses them.
std::string applyToKubernetes(const Subject& subject, const std::string& file,
                              diag::Engine& engine);

} // namespace recipec::launch

#endif // RECIPEC_LAUNCH_KUBERNETES_CLUSTER_H
