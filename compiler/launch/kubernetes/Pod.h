// The parts that all objects of a job share: pods, their files and claims.

#ifndef RECIPEC_LAUNCH_KUBERNETES_POD_H
#define RECIPEC_LAUNCH_KUBERNETES_POD_H

#include "compiler/launch/Job.h"
#include "compiler/launch/kubernetes/PodScripts.h"
#include "compiler/launch/kubernetes/Yaml.h"

#include <string>
#include <utility>
#include <vector>

namespace recipec::launch {

/// What differs between the pods of a job.
struct PodOptions {
  std::string container = "recipe"; // its name
  std::vector<std::string> command; // `bash SCRIPT`
  Ssh ssh = Ssh::none;
  bool hasRanks = true; // a launcher without ranks needs few resources
  std::string restartPolicy = "Never";
};

/// The command that runs a script of the ConfigMap.
std::vector<std::string> scriptCommand(const std::string& script);

/// A PodSpec.
Json podSpec(const Job& job, const PodOptions& options);

/// A PodTemplateSpec, with the labels of the job.
Json podTemplate(const Job& job, const PodOptions& options);

/// Metadata of an object of this name in the job's namespace. The object that
/// a queue admits has its label.
Json metadataOf(const Job& job, const std::string& name, bool isQueued = false);

Json labelsOf(const Job& job);

/// The names and texts of scripts.
using Scripts = std::vector<std::pair<std::string, std::string>>;

/// The ConfigMap with the plan and the scripts, and the claims that are
/// created.
std::vector<Json> filesOf(const Job& job, const Scripts& scripts);

/// A headless Service, by which pods have names.
Json headlessService(const Job& job);

/// The most bytes of a compressed plan: a ConfigMap has at most 1 MiB in all.
inline constexpr size_t mostPlanBytes = (size_t(1) << 20) - (size_t(1) << 15);

} // namespace recipec::launch

#endif // RECIPEC_LAUNCH_KUBERNETES_POD_H
